"""Which expressions a name may stand for at a place of a scope: assignments replace, branches unite, loops come
back."""

from collections.abc import Iterable, Sequence

from ..facts import Expr, FactsBuilder, Op


class Frame:
    """The names of a scope while its statements are read in order."""

    __slots__ = (
        "class_scope",
        "declared_global",
        "has_narrowed_attributes",
        "is_class",
        "is_dead",
        "lambdas",
        "log",
        "loops",
        "lost",
        "names",
        "outer",
        "parameters",
        "scope",
        "slots",
    )

    def __init__(self, scope: int, outer: "Frame | None", class_scope: int = -1, *, is_class: bool = False) -> None:
        self.scope = scope
        self.outer = outer
        """Where names that are not bound here are looked for; never the frame of a class."""
        self.class_scope = class_scope
        """The class whose body or method this is, or a function within one; -1 if there is none."""
        self.is_class = is_class
        self.names: dict[str, Expr] = {}
        self.lost: dict[str, Expr] = {}
        """Names that branches bound that do not come back, such as those that return: functions in them may read
        these."""
        self.is_dead = False
        """Whether the end of the branch that is being read is never reached."""
        self.log: list[tuple[str, Expr]] | None = None
        """What is bound within a `try`: any of it may be there in its handlers."""
        self.loops: list[dict[str, int]] = []
        """For each loop around here the variables of the names that it binds."""
        self.slots: dict[str, int] = {}
        """The variables of names that functions within this scope assign to: all assignments reach all uses."""
        self.declared_global: dict[str, Frame] = {}
        self.parameters: set[str] = set()
        self.has_narrowed_attributes = False
        self.lambdas = 0

    def bind(self, name: str, value: Expr) -> None:
        self.names[name] = value
        if self.log is not None:
            self.log.append((name, value))

    def find(self, name: str) -> Expr | None:
        frame: Frame | None = self
        while frame is not None:
            value = frame.names.get(name)
            if value is None:
                value = frame.lost.get(name)
            if value is not None:
                return value
            frame = frame.outer
        return None


class Branches:
    """The ways that lead through a statement; each begins with the names before it."""

    def __init__(self, frame: Frame, build: FactsBuilder) -> None:
        self._frame = frame
        self._build = build
        self._before = frame.names
        self._was_dead = frame.is_dead
        self._ends: list[tuple[dict[str, Expr], bool]] = []

    def begin(self) -> None:
        self._frame.names = dict(self._before)
        self._frame.is_dead = self._was_dead

    def end(self) -> None:
        self._ends.append((self._frame.names, self._frame.is_dead))

    def all_dead(self) -> bool:
        """Whether none of the ways so far comes back."""
        return all(is_dead for _, is_dead in self._ends)

    def skip(self) -> None:
        """A way that changes nothing."""
        self._ends.append((self._before, self._was_dead))

    def join(self) -> None:
        frame = self._frame
        alive = [names for names, is_dead in self._ends if not is_dead]
        frame.is_dead = not alive
        frame.names = unite(alive or [names for names, _ in self._ends], self._build)
        if len(alive) < len(self._ends):
            for names, is_dead in self._ends:
                if is_dead:
                    for name, value in names.items():
                        if name not in frame.names:
                            frame.lost[name] = value


def unite(ways: Sequence[dict[str, Expr]], build: FactsBuilder) -> dict[str, Expr]:
    united = dict(ways[0])
    for names in ways[1:]:
        if names is ways[0]:
            continue
        for name, value in names.items():
            known = united.get(name)
            if known is None:
                united[name] = value
            elif known != value:
                united[name] = build.union((*parts(known, build), *parts(value, build)))
    return united


def parts(value: Expr, build: FactsBuilder) -> Iterable[Expr]:
    row = build.facts.exprs[value]
    return row[1] if row[0] == Op.UNION else (value,)
