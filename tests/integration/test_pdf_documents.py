"""PDF files in a folder: their pages are found, and what cannot be read is named."""

import io
import os
import random
from contextlib import suppress
from pathlib import Path

from pypdf import PdfWriter
from tests.support.tiny_pdf import tiny_pdf
from tests.support.vaults import write

from mcp_memory_service.indexing import Unreadable
from mcp_memory_service.models import SearchRequest
from mcp_memory_service.services import MemoryService
from mcp_memory_service.services.sources.pdf import pdf_pages
from mcp_memory_service.services.sources.place import place_of

MANUAL = tiny_pdf(["How to open the case", "Where the two screws are"])


def encrypted(data: bytes, password: str) -> bytes:
    writer, out = PdfWriter(clone_from=io.BytesIO(data)), io.BytesIO()
    writer.encrypt(password, "owner", algorithm="RC4-128")
    writer.write(out)
    return out.getvalue()


async def test_the_pages_of_a_pdf_are_found(service: MemoryService, tmp_path: Path):
    vault = write(tmp_path / "vault", {"manual.pdf": MANUAL, "note.md": "The manual is [here](manual.pdf#page=2)."})
    report = await service.sources.index(vault)
    assert (len(report.added), report.links) == (2, {"resolved": 1})
    hit = (await service.search(SearchRequest("two screws"))).results[0]
    assert (hit.memory.content, hit.freshness) == ("Where the two screws are", "fresh")
    place = place_of(hit.memory)
    assert place is not None
    assert (place.heading_path, place.first_line, place.last_line) == (("manual", "Page 2"), 2, 2)


async def test_a_pdf_that_cannot_be_read_is_named_and_the_run_goes_on(service: MemoryService, tmp_path: Path):
    vault = write(
        tmp_path / "vault",
        {
            "good.pdf": encrypted(MANUAL, ""),
            "locked.pdf": encrypted(MANUAL, "secret"),
            "unknown.pdf": tiny_pdf(["text"], "/Filter /NobodyKnowsIt"),
            "pictures.pdf": tiny_pdf([""]),
            "torn.pdf": MANUAL[:200],
            "other.pdf": b"no PDF at all",
        },
    )
    report = await service.sources.index(vault)
    assert [Path(each).name for each in report.added] == ["good.pdf"]
    reasons = {Path(each.source).name: each.reason for each in report.refused}
    assert reasons.keys() == {"locked.pdf", "unknown.pdf", "pictures.pdf", "torn.pdf", "other.pdf"}
    assert reasons["locked.pdf"] == "it is encrypted"


def test_a_damaged_pdf_is_read_or_refused():
    chance = random.Random(7)
    for original in (MANUAL, encrypted(MANUAL, "")):
        for _ in range(60):
            damaged = bytearray(original)
            for _ in range(chance.choice([1, 3, 10])):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
            with suppress(Unreadable):
                assert any(page.strip() for page in pdf_pages(bytes(damaged)))


async def test_a_pdf_that_was_only_touched_is_parsed_once(service: MemoryService, tmp_path: Path):
    vault = write(tmp_path / "vault", {"manual.pdf": MANUAL})
    await service.sources.index(vault)
    os.utime(vault / "manual.pdf", (1_000, 1_000))
    for _ in range(2):
        hits = (await service.search(SearchRequest("two screws"))).results
        assert {hit.freshness for hit in hits} == {"fresh"}
        # With the same size and date, what it is now is not looked at.
        (vault / "manual.pdf").write_bytes(b" " * len(MANUAL))
        os.utime(vault / "manual.pdf", (1_000, 1_000))
    os.utime(vault / "manual.pdf", (2_000, 2_000))
    hits = (await service.search(SearchRequest("two screws"))).results
    assert {hit.freshness for hit in hits} == {"stale"}
