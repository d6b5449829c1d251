"""How right the resolved calls of the cases are: python -m tests.eval.code.scoring LANGUAGE [--misses]"""

import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.eval.code.cases import Call, Case, cases

from mcp_memory_service.indexing.code import Project, ProjectConfig, language_of, read_code


@dataclass(slots=True)
class Score:
    right: int = 0
    wrong: int = 0
    missed: int = 0
    by_class: dict[str, list[int]] = field(default_factory=lambda: defaultdict[str, list[int]](lambda: [0, 0]))
    """For each class of certainty how many calls are right, and how many are wrong."""

    def add(self, found: dict[Call, str], expected: frozenset[Call]) -> None:
        for call, certainty in found.items():
            self.by_class[certainty][call not in expected] += 1
        self.right += len(found.keys() & expected)
        self.wrong += len(found.keys() - expected)
        self.missed += len(expected - found.keys())

    @property
    def precision(self) -> float:
        return self.right / max(self.right + self.wrong, 1)

    @property
    def recall(self) -> float:
        return self.right / max(self.right + self.missed, 1)

    @property
    def f1(self) -> float:
        return 2 * self.precision * self.recall / max(self.precision + self.recall, 1e-9)


def found_calls(case: Case) -> dict[Call, str]:
    """The calls that are resolved in a case, each with its class."""
    code = {path: text for path, text in case.files.items() if language_of(path)}
    others = {path: text for path, text in case.files.items() if path not in code}
    config = ProjectConfig.of(code, others)
    project = Project(config)
    for path, text in code.items():
        project.put(read_code(path, text, config))
    edges = (edge for file in project.resolve().files.values() for edge in file.edges)
    return {(edge.from_symbol, edge.to_symbol): edge.certainty for edge in edges if edge.kind == "calls"}


def scores(which: Iterable[Case]) -> dict[str, Score]:
    """By category; "all" of all."""
    table: dict[str, Score] = defaultdict(Score)
    for case in which:
        found = found_calls(case)
        table[case.category].add(found, case.calls)
        table["all"].add(found, case.calls)
    return dict(table)


def _misses(case: Case) -> None:
    found = found_calls(case)
    lines = [f"  + {a} -> {b}" for a, b in sorted(case.calls - found.keys())]
    lines += [f"  - {a} -> {b} ({found[a, b]})" for a, b in sorted(found.keys() - case.calls)]
    if lines:
        print("\n".join([f"{case.category}: {case.title}", *lines]))


def main(language: str, *flags: str) -> None:
    chosen = cases(language)
    if "--misses" in flags:
        for case in chosen:
            _misses(case)
    for category, score in scores(chosen).items():
        classes = "  ".join(
            f"{name} {right}/{right + wrong}" for name, (right, wrong) in sorted(score.by_class.items())
        )
        print(f"{category:14} P {score.precision:.3f}  R {score.recall:.3f}  F1 {score.f1:.3f}  {classes}")


if __name__ == "__main__":
    main(*sys.argv[1:])
