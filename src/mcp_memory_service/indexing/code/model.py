"""What is found in code: symbols, and edges between them that say how sure they are."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

SymbolKind: TypeAlias = Literal["module", "class", "interface", "function", "method", "lambda"]
Certainty: TypeAlias = Literal["certain", "likely", "guess"]
RelationKind: TypeAlias = Literal["calls", "references", "imports", "inherits", "overrides", "tests", "contains"]


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition, as it stands in its file."""

    qualified_name: str
    """With the module in front, divided by dots: `package.module.Class.method`; the module itself is its own name."""
    kind: SymbolKind
    first_line: int
    last_line: int
    """Counted from 1; decorators belong to it."""
    signature: str
    """On one line, as it is written: `def f(a: int = 1) -> str`; of a module its path."""
    docstring: str
    text: str
    """Of its span. Of a class or a module what its members leave: their bodies are not in it."""
    span_hash: str
    """SHA-256 of all lines of its span, members included."""

    @property
    def name(self) -> str:
        return self.qualified_name.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class CodeEdge:
    """One symbol refers to another."""

    from_symbol: str
    to_symbol: str
    """Both by their qualified names. Of what was found outside of the project there are no edges."""
    from_path: str
    to_path: str
    """The files they stand in, relative to the project: two files may have a symbol of the same name."""
    kind: RelationKind
    lines: tuple[int, ...]
    """Of the places in `from_path`, each once, in order."""
    certainty: Certainty


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call that was not resolved, though the project has something of that name."""

    from_symbol: str
    from_path: str
    name: str
    """The last part of what is called."""
    lines: tuple[int, ...]
    candidates: int
    """How many symbols it may mean; more than one if it is ambiguous, one if nothing but the name says so."""
