"""Files of code are read by processes that know nothing of the service, and that may end over a file."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.patience import HANG_SECONDS

from mcp_memory_service.code_reader_process import COMMAND, Batch, ReadCode, Unparsed, packed, read_batch, unpacked
from mcp_memory_service.indexing.code import ProjectConfig, read_code
from mcp_memory_service.services.code import readers
from mcp_memory_service.services.code.readers import Readers

CONFIG = ProjectConfig()
TEXTS = [(f"m{number}.py", f"def f{number}():\n    return {number}\n") for number in range(40)]


@pytest.fixture
def in_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what would be read here."""
    monkeypatch.setattr(readers, "FEW_CHARS", 0)
    monkeypatch.setattr(readers, "BATCH_CHARS", 200)


def test_a_reader_imports_neither_the_service_nor_what_stores(tmp_path: Path):
    program = (
        "import sys, mcp_memory_service.code_reader_process\n"
        "print(*sorted({'.'.join(each.split('.')[:3]) for each in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=HANG_SECONDS)
    loaded = done.stdout.decode().split()
    ours = {each for each in loaded if each.startswith("mcp_memory_service.")}
    assert ours == {
        "mcp_memory_service.code_reader_process",
        "mcp_memory_service.indexing",
        "mcp_memory_service.indexing.code",
    }
    assert {"apsw", "numpy", "pydantic", "fastapi", "mcp", "yaml", "tree_sitter_markdown"}.isdisjoint(loaded)


@pytest.mark.usefixtures("in_processes")
def test_processes_read_as_this_one_does_and_in_order():
    with Readers() as many:
        assert many.read(TEXTS, CONFIG) == read_batch(Batch(TEXTS, CONFIG))
        assert many.read(TEXTS[:3], CONFIG) == read_batch(Batch(TEXTS[:3], CONFIG))
        assert many.read([], CONFIG) == []


@pytest.mark.usefixtures("in_processes")
def test_a_file_that_ends_its_reader_is_left_out_alone(monkeypatch: pytest.MonkeyPatch):
    """A reader that dies at the sight of one file stands for a parser that does."""
    program = (
        "import os\n"
        "from mcp_memory_service import code_reader_process as process\n"
        "read = process.read_code\n"
        "def deadly(path, text, config):\n"
        "    if path == 'm7.py': os._exit(1)\n"
        "    return read(path, text, config)\n"
        "process.read_code = deadly\n"
        "process.run()\n"
    )
    monkeypatch.setattr(readers, "COMMAND", (*COMMAND[:3], program))
    with Readers() as many:
        found = many.read(TEXTS, CONFIG)
    assert [path for (path, _), read in zip(TEXTS, found, strict=True) if isinstance(read, Unparsed)] == ["m7.py"]
    assert sum(isinstance(read, ReadCode) for read in found) == len(TEXTS) - 1


@pytest.mark.usefixtures("in_processes")
def test_a_reader_that_is_stuck_is_ended(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(readers, "COMMAND", (sys.executable, "-c", "import time; time.sleep(600)"))
    monkeypatch.setattr(readers, "BATCH_SECONDS", 0.2)
    with Readers() as many:
        assert many.read(TEXTS[:1], CONFIG) == [readers.CRASHED]


@settings(max_examples=50)
@given(st.text(max_size=200))
def test_what_is_packed_comes_back(text: str):
    file = read_code("a.py", text, CONFIG)
    again = unpacked(packed(file))
    assert (again.path, again.module, again.facts, again.problems) == ("a.py", "a", file.facts, file.problems)
    assert again.symbols == ()
