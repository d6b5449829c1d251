"""Ranking policies to compare, as a user names them: what is different, such as `fusion=rrf,rrf_k=20`."""

from collections.abc import Iterator
from dataclasses import asdict, fields

from pydantic import TypeAdapter, ValidationError

from ..config import HybridSearchSettings, load_settings
from ..errors import InvalidInput
from ..hybrid_search import CLASSIC, RankingPolicy

NAMES = tuple(field.name for field in fields(RankingPolicy))


def changed_policy(policy: RankingPolicy, changes: str) -> RankingPolicy:
    """The policy with other numbers, or the classic one; refused where a setting of that name would be."""
    changed = dict(_changes(changes))
    if changed.get("ranking") == CLASSIC.ranking:
        policy = CLASSIC
    load_settings({name: value for name, value in changed.items() if name in HybridSearchSettings.model_fields})
    try:
        return TypeAdapter(RankingPolicy).validate_python(asdict(policy) | changed)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        raise InvalidInput(f"{changes}: {problem['loc'][0]}: {problem['msg']}.", reason="policy_invalid") from None


def _changes(text: str) -> Iterator[tuple[str, str]]:
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not (equals and value):
            raise InvalidInput(f"{text}: NAME=VALUE is expected, such as fusion=rrf.", reason="policy_invalid")
        if name not in NAMES:
            raise InvalidInput(f"{name} is no number of the ranking: {', '.join(NAMES)}.", reason="policy_invalid")
        yield name, value
