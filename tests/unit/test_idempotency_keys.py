"""Which requests are the same one, sent again."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.errors import InvalidInput
from mcp_memory_service.models import UNSET, MemoryPatch
from mcp_memory_service.services.write.idempotency import delete_key, update_key

values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0]) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=5,
)
patches = st.builds(
    MemoryPatch,
    tags=st.none() | st.lists(st.sampled_from("ab"), max_size=2).map(tuple),
    memory_type=st.none() | st.just(UNSET) | st.sampled_from("ab"),
    metadata=st.none() | st.dictionaries(st.sampled_from("ab"), values, max_size=2),
)


def fingerprint(patch: MemoryPatch, content_hash: str = "h") -> str:
    key = update_key("k", content_hash, patch, now=1)
    assert key is not None
    return key.fingerprint


def as_json(patch: MemoryPatch) -> str:
    return json.dumps([patch.tags, str(patch.memory_type), repr(patch.memory_type), patch.metadata], sort_keys=True)


@given(patches, patches)
def test_only_equal_requests_have_equal_fingerprints(one: MemoryPatch, other: MemoryPatch):
    assert (fingerprint(one) == fingerprint(other)) == (as_json(one) == as_json(other))
    assert fingerprint(one) != fingerprint(one, "another memory")
    deleting = delete_key("k", "h", now=1)
    assert deleting is not None
    assert deleting.fingerprint != fingerprint(one)


@given(st.dictionaries(st.text(max_size=3), values, max_size=4))
def test_the_order_of_metadata_does_not_matter(metadata: dict[str, Any]):
    backwards = dict(reversed(metadata.items()))
    assert fingerprint(MemoryPatch(metadata=metadata)) == fingerprint(MemoryPatch(metadata=backwards))


def test_time_and_key_are_no_part_of_what_is_asked():
    one, other = delete_key("a", "h", now=1), delete_key("b", "h", now=2)
    assert one is not None
    assert other is not None
    assert one.key != other.key
    assert replace(one, key=other.key, received_at=2) == other
    assert "private" not in str(delete_key("private", "h", now=1))


def test_no_key_is_none_and_an_odd_one_is_refused():
    assert delete_key(None, "h", now=1) is None
    assert update_key(None, "h", MemoryPatch(), now=1) is None
    for odd in ("", "x" * 201, "a\nb", "ü", "a\n"):
        with pytest.raises(InvalidInput) as refused:
            delete_key(odd, "h", now=1)
        assert refused.value.code == "idempotency_key_invalid"
