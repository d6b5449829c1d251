"""Filters as Qdrant has them; every one is applied inside the search."""

from collections.abc import Iterable, Sequence

from qdrant_client import models

from ...models import MemoryFilter, scope_root
from .points import MEMORY


def equals(key: str, value: str | int | bool) -> models.FieldCondition:
    return models.FieldCondition(key=key, match=models.MatchValue(value=value))


def any_of(key: str, values: list[str] | list[int]) -> models.FieldCondition:
    return models.FieldCondition(key=key, match=models.MatchAny(any=values))


def point_with(point_id: str, key: str, value: str) -> models.Filter:
    """A point, as long as it has this value."""
    return models.Filter(must=[models.HasIdCondition(has_id=[point_id]), equals(key, value)])


def has_term(term: str) -> models.FieldCondition:
    return models.FieldCondition(key="terms", match=models.MatchText(text=term))


def has_phrase(words: Sequence[str]) -> models.FieldCondition:
    return models.FieldCondition(key="terms", match=models.MatchPhrase(phrase=" ".join(words)))


def passing(where: MemoryFilter, *also: models.Condition, one_of: Iterable[models.Condition] = ()) -> models.Filter:
    """The memories that pass the filter, narrowed by further conditions."""
    return models.Filter(must=[*_conditions(where), *also], should=list(one_of) or None)


def every_memory() -> models.Filter:
    """Memories of all namespaces."""
    return models.Filter(must=[equals("kind", MEMORY)])


def _conditions(where: MemoryFilter) -> list[models.Condition]:
    found: list[models.Condition] = [equals("namespace", where.namespace)]
    if where.types:
        found.append(any_of("memory_type", list(where.types)))
    if where.kinds:
        found.append(any_of("memory_kind", list(where.kinds)))
    if where.scope is not None:
        found.append(equals("source_prefixes", scope_root(where.scope)))
    if where.after is not None or where.before is not None:
        found.append(models.FieldCondition(key="created_at", range=models.Range(gte=where.after, lt=where.before)))
    if where.tags and where.tag_match == "any":
        found.append(any_of("tag_keys", list(where.tags)))
    elif where.tags:
        found.extend(equals("tag_keys", tag) for tag in where.tags)
    return found
