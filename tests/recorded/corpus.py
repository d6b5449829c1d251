"""The memories that the recorded requests ask about: notes of our own corpus, dated long ago, and a few odd ones."""

import json
from pathlib import Path
from typing import Any

EVALUATION = Path(__file__).parent.parent / "eval"
NOTES = 200
QUERIES = 40
YEARS_BACK = 20
"""So old that the recency factor is at its floor, whenever the requests are played."""

ODD: tuple[dict[str, Any], ...] = (
    {"content": "größe des Köders 部署 notes", "tags": ["größe", "部署"], "created_at": "2004-03-01T00:00:00Z"},
    {
        "content": "部署 服务器 需要 三 步",
        "tags": ["部署"],
        "memory_type": "note",
        "created_at": "2004-03-02T00:00:00Z",
    },
    {"content": "parseHTTPResponse fails in src/net/http_client.rs:287", "created_at": "2004-03-03T00:00:00Z"},
    {"content": "c++ and c# and f# builds", "tags": ["c++", "c#"], "created_at": "2004-03-04T00:00:00Z"},
    {
        "content": "# Deploy heading\n\nThe heading of this note names the deploy.",
        "metadata": {"port": 2333, "deep": {"list": [1, 2.5, None, True]}},
        "source": "recorder",
        "created_at": "2004-03-05T00:00:00Z",
    },
    {"content": "same words same words same words", "created_at": "2004-03-06T00:00:00Z"},
    {"content": "same words, once", "created_at": "2004-03-06T00:00:00Z"},
    {
        "content": " ".join(f"word{number} of a long text about kestrels" for number in range(300)),
        "tags": ["long", "kestrel"],
        "created_at": "2004-03-07T00:00:00Z",
    },
    *(
        {
            "content": f"turn {number}: {said}",
            "session": "talk",
            "sequence": number,
            "created_at": f"2004-04-01T00:00:0{number}Z",
        }
        for number, said in enumerate(
            ("where does the tunnel end?", "in the home lab", "which port?", "two three three three", "thanks")
        )
    ),
)


def memories() -> list[dict[str, Any]]:
    lines = (EVALUATION / "memories.jsonl").read_text(encoding="utf-8").splitlines()[:NOTES]
    return [*map(_dated_back, map(json.loads, lines)), *ODD]


def queries() -> list[str]:
    cases = json.loads((EVALUATION / "ground_truth.json").read_text(encoding="utf-8"))["test_cases"]
    return [case["query"] for case in cases[:: max(1, len(cases) // QUERIES)]][:QUERIES]


def _dated_back(row: dict[str, Any]) -> dict[str, Any]:
    wanted = ("content", "tags", "memory_type", "created_at", "session", "sequence")
    memory = {name: row[name] for name in wanted if row.get(name) is not None}
    year, rest = memory["created_at"].split("-", 1)
    return memory | {"created_at": f"{int(year) - YEARS_BACK}-{rest}"}
