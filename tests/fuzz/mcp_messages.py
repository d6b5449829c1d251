"""MCP messages, valid ones and what is made of them; the tools and their arguments are those that the server lists."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mcp.types import (
    CLIENT_CAPABILITIES_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    JSONRPCRequest,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from .mutations import mangled, mutated, written

PROTOCOL = "2025-11-25"  # the last one with a handshake
EXCHANGE_PROTOCOL = "2026-07-28"  # each request stands for itself and says so
EXCHANGE: dict[str, Any] = {PROTOCOL_VERSION_META_KEY: EXCHANGE_PROTOCOL, CLIENT_CAPABILITIES_META_KEY: {}}
INTERNAL_ERRORS = (0, -32603)  # how the library answers what nobody expected
INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": "initialize",
    "method": "initialize",
    "params": {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "fuzzer", "version": "1"}},
}
LIST_TOOLS: dict[str, Any] = {"jsonrpc": "2.0", "id": "tools", "method": "tools/list"}
METHODS = (
    "initialize", "ping", "tools/list", "tools/call", "resources/list", "resources/read", "resources/templates/list",
    "resources/subscribe", "prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "roots/list",
    "sampling/createMessage", "elicitation/create", "server/discover", "tasks/get", "tasks/cancel", "rpc.discover",
    "notifications/initialized", "notifications/cancelled", "notifications/progress", "no/such/method", "", "\x00",
)  # fmt: skip
ASKED: tuple[dict[str, Any], ...] = (
    {"name": "x", "uri": "memory://x", "cursor": "1"},
    {"name": "recall", "arguments": {"topic": "rathole"}, "uri": "memory://overview"},
    {"name": "save-session", "uri": "memory://" + "9f86d081" * 8},
)
"""Of what is no tool: prompts and resources, some that are there."""
VALUES_BY_TYPE: dict[str, tuple[Any, ...]] = {
    "string": ("rathole forwards a port", "2026-11-01", "9f86d081" * 8, "any", "note"),
    "integer": (0, 1, 3),
    "number": (0.0, 0.5, 1.0),
    "boolean": (True, False),
    "array": ([], ["homelab"]),
    "object": ({}, {"port": 2333}),
    "null": (None,),
}


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    schema: dict[str, Any]


def tools_of(listed: dict[str, Any]) -> tuple[Tool, ...]:
    """From the result of `tools/list`."""
    return tuple(Tool(tool["name"], tool["inputSchema"]) for tool in listed["tools"])


def tool_call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return _request(name, "tools/call", {"name": name, "arguments": arguments})


def message(number: int, tools: Sequence[Tool], chance: random.Random) -> bytes:
    """One in ten as it should be, half with wrong values that reach a tool, some wrong outside, some no JSON."""
    valid = _valid(f"m{number}", tools, chance)
    match chance.randrange(10):
        case 0:
            return written(valid)
        case 1 | 2:
            return mangled(written(valid), chance)
        case 3:
            return written([valid, mutated(valid, chance)])
        case 4:
            return written(mutated(valid, chance))
        case _:
            return written(_mutated_inside(valid, chance))


def _mutated_inside(valid: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    match valid:
        case {"params": {"arguments": arguments, **params}}:
            return {**valid, "params": {**params, "arguments": mutated(arguments, chance)}}
        case {"params": params}:
            return {**valid, "params": mutated(params, chance)}
        case _:
            return mutated(valid, chance)


def _valid(identity: str, tools: Sequence[Tool], chance: random.Random) -> dict[str, Any]:
    if chance.random() < 0.6:
        tool = chance.choice(tools)
        call: dict[str, Any] = {"name": tool.name, "arguments": _arguments(tool.schema, chance)}
        return _request(identity, "tools/call", {**call, "_meta": EXCHANGE} if chance.random() < 0.4 else call)
    match chance.randrange(4):
        case 0:
            return {**INITIALIZE, "id": identity}
        case 1:
            return {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": "none", "reason": "x"},
            }
        case 2:
            return {"jsonrpc": "2.0", "id": identity, "result": {"answer": "to nothing"}}
        case _:
            return _request(identity, chance.choice(METHODS), dict(chance.choice(ASKED)))


def _request(identity: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}


def _arguments(schema: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Those that are required and some of the others, each with a value of a type that it takes."""
    required = schema.get("required", [])
    named = {name: each for name, each in schema["properties"].items() if name in required or chance.random() < 0.3}
    return {name: _value(each, chance) for name, each in named.items()}


def _value(schema: dict[str, Any], chance: random.Random) -> Any:
    if "enum" in schema:
        return chance.choice(schema["enum"])
    alternatives = schema.get("anyOf", [schema])
    return chance.choice(VALUES_BY_TYPE[chance.choice(alternatives).get("type", "string")])


def owed_id(text: bytes) -> str | None:
    """The id that the server owes an answer to: of one whole request, if no other message has it."""
    try:
        read = jsonrpc_message_adapter.validate_json(text.decode(errors="replace"), by_name=False)
    except ValidationError:
        return None
    return read.id if isinstance(read, JSONRPCRequest) and isinstance(read.id, str) and read.id[:1] == "m" else None


def complaint(answer: Any) -> str | None:
    """What is wrong with an answer of the server; None if it is a message of the protocol and no internal error."""
    match answer:
        case {"jsonrpc": "2.0", "error": {"code": int() as code, "message": str()}}:
            return f"internal error {code}" if code in INTERNAL_ERRORS else None
        case {"jsonrpc": "2.0", "result": _} | {"jsonrpc": "2.0", "method": str()}:
            return None
        case _:
            return "no JSON-RPC message"
