"""Filters as Qdrant has them; every one is applied inside the search."""

from collections.abc import Iterable, Sequence

from qdrant_client import models

from ...models import MemoryFilter, MetadataIs, scope_root
from .points import MEMORY, PINNED, metadata_item


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
    found: list[models.Condition] = [equals("namespace", where.namespace), *_life(where)]
    found += [
        equals(key, text) for key, text in (("session", where.session), ("source", where.source)) if text is not None
    ]
    found += [equals("found_by", _asked(each)) for each in where.metadata]
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


def _asked(asked: MetadataIs) -> str:
    return metadata_item(asked.key) if asked.value is None else metadata_item(asked.key, asked.value)


def _life(where: MemoryFilter) -> list[models.Condition]:
    """What a memory does not have, no range finds: neither an end, nor that it was ever edited or pinned."""
    found: list[models.Condition] = []
    if where.pinned is not None:
        pinned = equals("found_by", PINNED)
        found.append(pinned if where.pinned else _not(pinned))
    if where.alive_at is not None:
        found.append(_not(_when("expires_at", lte=where.alive_at)))
    if where.expired_by is not None:
        found.append(_when("expires_at", lte=where.expired_by))
    if where.ended_before is not None:
        found.append(_when("ended_at", lt=where.ended_before))
    if where.as_of is not None:
        over = [_when(end, lte=where.as_of) for end in ("ended_at", "expires_at")]
        found += [_when("created_at", lte=where.as_of), _not(_when("edited_at", gt=where.as_of), *over)]
    return found


def _when(key: str, *, lt: int | None = None, lte: int | None = None, gt: int | None = None) -> models.FieldCondition:
    return models.FieldCondition(key=key, range=models.Range(lt=lt, lte=lte, gt=gt))


def _not(*conditions: models.Condition) -> models.Filter:
    return models.Filter(must_not=list(conditions))
