"""Files come, change and go: the edges are always those of a project that is read afresh."""

import json
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_memory_service.indexing.code import CodeFile, FileEdges, Project, ProjectConfig, Resolved, read_code

PATHS = ("main.py", "helper.py", "pkg/__init__.py", "pkg/core.py", "pkg/shapes.py", "other/lonely.py")
CONFIG = ProjectConfig.of(("pkg/__init__.py",))

IMPORTS = (
    "import helper",
    "from helper import run",
    "from helper import *",
    "from pkg import core",
    "from pkg import run, Base",
    "from pkg.core import run as go",
    "from pkg.shapes import Base, Circle",
    "from .core import *",
    "from .shapes import Base",
    "import main",
)
DEFINITIONS = (
    "def run(step=None):\n    return step()",
    "def run(step):\n    return helper.run(step)",
    "def go(thing):\n    thing.draw()\n    return thing",
    "class Base:\n    def draw(self):\n        return self.paint()\n\n    def paint(self):\n        raise NotImplementedError",  # noqa: E501
    "class Circle(Base):\n    def paint(self):\n        run(go)",
    "class Circle:\n    def __init__(self, pen=None):\n        self.pen = pen\n\n    def draw(self):\n        self.pen.only_here()",  # noqa: E501
    "class Pen:\n    def only_here(self):\n        pass",
    "TABLE = {'a': run}",
    "def add(name, step):\n    TABLE[name] = step",
)
STATEMENTS = (
    "run(go)",
    "go(Circle())",
    "Circle(Pen()).draw()",
    "core.run(run)",
    "helper.go(Base())",
    "main.run(helper.go)",
    "TABLE['a'](go)",
    "add('b', Circle)",
    "unknown().only_here()",
    "def mutual(h):\n    h(mutual)",
    "run(mutual)",
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    parts = [
        *draw(st.lists(st.sampled_from(IMPORTS), max_size=3)),
        *draw(st.lists(st.sampled_from(DEFINITIONS), max_size=4)),
        *draw(st.lists(st.sampled_from(STATEMENTS), max_size=3)),
    ]
    return "\n".join(parts) + "\n"


EDITS = st.lists(st.tuples(st.sampled_from(PATHS), st.one_of(st.none(), texts())), min_size=1, max_size=12)


def afresh(files: dict[str, str]) -> dict[str, FileEdges]:
    project = Project(CONFIG)
    for path, text in files.items():
        project.put(read_code(path, text, CONFIG))
    return dict(project.resolve().files)


@settings(max_examples=150, deadline=None)
@given(EDITS, st.data())
def test_after_any_edits_the_edges_are_those_of_a_fresh_project(
    edits: list[tuple[str, str | None]], data: st.DataObject
):
    project = Project(CONFIG)
    files: dict[str, str] = {}
    for path, text in edits:
        if text is None:
            project.remove(path)
            files.pop(path, None)
        else:
            project.put(read_code(path, text, CONFIG))
            files[path] = text
        if data.draw(st.booleans()):
            assert dict(project.resolve().files) == afresh(files)
    assert dict(project.resolve().files) == afresh(files)


@settings(max_examples=50, deadline=None)
@given(EDITS)
def test_what_is_told_as_changed_is_all_that_changed(edits: list[tuple[str, str | None]]):
    project = Project(CONFIG)
    answers: list[Resolved] = [project.resolve()]
    for path, text in edits:
        if text is None:
            project.remove(path)
        else:
            project.put(read_code(path, text, CONFIG))
        answers.append(project.resolve())
    for before, after in pairwise(answers):
        paths = before.files.keys() | after.files.keys()
        differing = {path for path in paths if before.files.get(path) != after.files.get(path)}
        assert differing <= after.changed_paths


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.sampled_from(PATHS), texts(), min_size=1))
def test_the_order_in_which_files_come_and_their_records_change_nothing(files: dict[str, str]):
    project = Project(CONFIG)
    for path in reversed(files):
        row = json.loads(json.dumps(read_code(path, files[path], CONFIG).to_json()))
        project.put(CodeFile.from_json(row))

    assert dict(project.resolve().files) == afresh(files)
