"""What the answers and the tools of the MCP server cost a model in tokens, on the corpus of tests/eval.

    python bench/mcp_tokens.py [--queries N]

Texts are the stored contents of the memories that an answer names; `text` is the content block of the answer and
`structured` its structuredContent as compact JSON, which some clients give the model in place of the text.
"""

import argparse
import asyncio
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from mcp import Client
from mcp.types import CallToolResult
from tests.eval.own_corpus import labelled_queries, memory_drafts, store_corpus
from tests.support.tokens import tokens

from mcp_memory_service.bootstrap import open_service
from mcp_memory_service.config import load_settings
from mcp_memory_service.mcp_server import build_mcp_server
from mcp_memory_service.models import content_hash

SHOWN_ID = re.compile(r"(?:^¶ |\bid:? )([0-9a-f]{12})", re.MULTILINE)
CONTENTS = {content_hash(draft.content)[:12]: draft.content for draft in memory_drafts()}
ASKED: Mapping[str, Mapping[str, Any]] = {
    "retrieve_memory": {"page_size": 10},
    "hybrid_search": {"limit": 10},
    "semantic_search": {"limit": 10},
    "keyword_search": {"limit": 10},
}


class Costs:
    """Summed over answers, by tool and form."""

    def __init__(self) -> None:
        self.answers: Counter[str] = Counter()
        self.sums: Counter[tuple[str, str]] = Counter()

    def add(self, tool: str, answer: CallToolResult, asked_id: str = "") -> None:
        text = "".join(getattr(block, "text", "") for block in answer.content)
        shown = SHOWN_ID.findall(text) or [asked_id]
        self.answers[tool] += 1
        self.sums[tool, "texts"] += sum(tokens(CONTENTS.get(each, "")) for each in shown)
        self.sums[tool, "text"] += tokens(text)
        if answer.structured_content is not None:
            written = json.dumps(answer.structured_content, ensure_ascii=False, separators=(",", ":"))
            self.sums[tool, "structured"] += tokens(written)

    def print(self) -> None:
        print(f"{'tool':<16} {'answers':>7} {'texts':>7} {'text':>7} {'':>6} {'structured':>10}")
        for tool, count in self.answers.items():
            texts, text, structured = (self.sums[tool, form] / count for form in ("texts", "text", "structured"))
            print(
                f"{tool:<16} {count:>7} {texts:>7.0f} {text:>7.0f} {text / texts:>5.2f}x"
                + (f" {structured:>10.0f} {structured / texts:>5.2f}x" if structured else f" {'none':>10}")
            )


async def measure(queries: int) -> None:
    costs = Costs()
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings({"sqlite_path": Path(folder) / "tokens.db"})
        async with open_service(settings) as service:
            await store_corpus(service)
            async with Client(build_mcp_server(service, settings.mcp_response_chars)) as client:
                tools = (await client.list_tools()).tools
                for query in [case.query for case in labelled_queries()][:queries]:
                    for tool, arguments in ASKED.items():
                        costs.add(tool, await client.call_tool(tool, {"query": query, **arguments}))
                for page in range(1, 11):
                    listed = {"page": page, "page_size": 10}
                    costs.add("list_memories", await client.call_tool("list_memories", listed))
                for draft in memory_drafts()[::6]:
                    asked = content_hash(draft.content)
                    costs.add(
                        "get_memory", await client.call_tool("get_memory", {_id_argument(tools): asked}), asked[:12]
                    )
    costs.print()
    _print_tools(tools)


def _id_argument(tools: list[Any]) -> str:
    """Its name before and after it was `id`."""
    (get_memory,) = (tool for tool in tools if tool.name == "get_memory")
    return "id" if "id" in get_memory.input_schema["properties"] else "content_hash"


def _print_tools(tools: list[Any]) -> None:
    costs = {tool.name: tokens(described(tool)) for tool in tools}
    listed = json.dumps([tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools])
    print(f"\n{len(tools)} tools, {len(listed)} bytes, {sum(costs.values())} tokens")
    for name, cost in costs.items():
        print(f"  {name:<16} {cost:>5}")


def described(tool: Any) -> str:
    """What a model is told of a tool."""
    return f"{tool.name} {tool.description} {json.dumps(tool.input_schema, separators=(',', ':'))}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=100)
    asyncio.run(measure(parser.parse_args().queries))
