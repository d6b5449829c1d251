"""Whether a store file is sound: the judge of all tests here is what `mcp-memory doctor` does."""

from pathlib import Path

from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.storage.sqlite_vec import StoreUpkeep


def unseen(_doing: str, _done: int, _total: int) -> None:
    """Progress that nobody watches."""


def problems_of(path: Path) -> list[str]:
    """What is wrong with the file, in words; nothing if it is sound."""
    findings = StoreUpkeep(path, indexed_text, unseen).inspect().findings
    return [f"{finding.code}: {finding.message}" for finding in findings]
