"""Ground truth for memories that are stored already: queries with the hashes of what they shall find."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from ..errors import InvalidInput
from .metrics import Grades


@dataclass(frozen=True, slots=True)
class LabelledQuery:
    query: str
    expected_hashes: tuple[str, ...]
    """Empty where nothing that is stored answers the query."""
    expected_tags: tuple[str, ...]
    category: str

    @property
    def relevant(self) -> Grades:
        return dict.fromkeys(self.expected_hashes, 1.0)


def load_ground_truth(path: Path) -> list[LabelledQuery]:
    """Read `{"test_cases": [{"query", "expected_hashes", "expected_tags", "category"}, …]}`."""
    try:
        cases = json.loads(path.read_text(encoding="utf-8"))["test_cases"]
        return [
            LabelledQuery(
                query=str(case["query"]),
                expected_hashes=_hashes(case["expected_hashes"]),
                expected_tags=tuple(case.get("expected_tags", ())),
                category=str(case.get("category", "")),
            )
            for case in cases
        ]
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.", reason="ground_truth_not_found") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(
            f"{path} is no ground truth: {type(error).__name__}: {error}", reason="ground_truth_malformed"
        ) from error


def _hashes(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError("expected_hashes must be a list")
    return tuple(map(str, cast("list[object]", value)))


def answerable(cases: Sequence[LabelledQuery]) -> list[LabelledQuery]:
    return [case for case in cases if case.expected_hashes]
