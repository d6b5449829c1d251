"""Compares what the doors answer now with the record, or makes it the record."""

import json
import sys
import tempfile
from difflib import unified_diff
from pathlib import Path
from typing import Any

from tests.recorded.play import play

RECORD = Path(__file__).with_name("answers.jsonl")


def recorded() -> dict[str, Any]:
    return dict(json.loads(line) for line in RECORD.read_text(encoding="utf-8").splitlines())


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for name in sorted(before.keys() | after.keys()):
        one, other = (json.dumps(each.get(name), indent=1, ensure_ascii=False) for each in (before, after))
        if one != other:
            lines += [f"=== {name}", *unified_diff(one.splitlines(), other.splitlines(), lineterm="", n=2)]
    return lines


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        answers = play(Path(folder))
    if RECORD.exists():
        print("\n".join(differences(recorded(), answers)) or "No difference.")
    if "--accept" in sys.argv:
        lines = (json.dumps([name, answer], ensure_ascii=False) for name, answer in answers.items())
        RECORD.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(answers)} requests.")


if __name__ == "__main__":
    main()
