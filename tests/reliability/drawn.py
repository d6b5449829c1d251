"""What the state machine may draw: few values of each kind, so that calls meet the same memories again and again."""

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from tests.contract.memories import embedded, memory, vector

from mcp_memory_service.models import (
    UNSET,
    Edge,
    EmbeddedMemory,
    JsonValue,
    MemoryFilter,
    MemoryPatch,
    content_hash,
    fold_tag,
    history_of,
    trash_of,
)


def own_word(number: int) -> str:
    """A word that only one of the contents has."""
    return f"unique{number}"


CONTENTS = (
    "Port of the tunnel: unique0",
    "Größe unique1 wie GRÖSSE",
    "部署 unique2 🚀",
    '"unique3" OR 1=1 -- \'; DROP TABLE memories',
    "unique4\n\tשלום %_\\",
    "a long line " * 40 + "unique5",
    "x" * 300 + " unique6",
)
# The vectors of the chunks of a memory; some lie in the same direction. The same content comes with any of them.
_WINDOWS: tuple[tuple[tuple[float, ...], ...], ...] = (
    ((1.0, 0.0, 0.0, 0.0),),
    ((2.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0)),
    ((-1.0, 2.0, 0.0, 1.0),),
    ((3.0, -1.0, 2.0, 0.0), (1.0, 1.0, 1.0, 1.0), (0.0, 0.0, -3.0, 1.0)),
    ((0.0, 3.0, 0.0, 0.0),),
    ((1.0, 2.0, 3.0, -1.0), (1.0, 2.0, 3.0, -2.0)),
    ((-2.0, -1.0, 0.0, 3.0),),
)
HASH_OF = tuple(content_hash(content) for content in CONTENTS)
_TAGS = ("alpha", "Alpha", "ALPHA", "beta", "Größe!", "GRÖSSE!", "two words", "部署", "project:x")
_FOLDED = sorted({fold_tag(tag) for tag in _TAGS})
_METADATA_KEYS = st.sampled_from(["a", "b", "ключ"])
_LEAVES: st.SearchStrategy[Any] = st.sampled_from([None, True, 1, 1.0, "x", [1, {"deep": None}]])

NUMBERS = st.integers(0, len(CONTENTS) - 1)
HANDLES = st.integers(0, 1)
NAMESPACES = st.sampled_from(["default", "default", "other"])
SECTIONS = st.sampled_from(
    ["default", "default", history_of("default"), trash_of("default"), "other", history_of("other"), trash_of("other")]
)
"""Where memories are read: no call names a history or a trash to be written."""
HASHES = st.sampled_from([*HASH_OF, "0" * 64])
HASH_LISTS = st.lists(HASHES, max_size=5, unique=True)
OFFSETS = st.integers(0, 4)
LIMITS = st.sampled_from([1, 2, 3, 20])
TAGS_AS_WORDS = st.sampled_from(["alpha", "beta"])
"""Those that are words of no content."""
TAG_WEIGHTS = st.dictionaries(st.sampled_from([*_FOLDED, "missing"]), st.sampled_from([0.5, 1.0, 2.25]), min_size=1)
"""Sums of these are exact."""
VECTORS = st.tuples(*[st.integers(-3, 3).map(float)] * 4).filter(any)

_tags = st.lists(st.sampled_from(_TAGS), max_size=4).map(tuple)
_windows = st.sampled_from(_WINDOWS)
_types = st.sampled_from([None, None, "note", "fix"])
_moments = st.integers(-2, 6)
# Memories are created at the first of these; edited, superseded by an edit and trashed at the later ones.
_later_moments = st.sampled_from([-1, 2, 5, 1_000, 1_003, 1_010])
_ends = st.sampled_from([None, None, None, 3, 1_003, 1_010])
_metadata: st.SearchStrategy[dict[str, JsonValue]] = st.dictionaries(
    _METADATA_KEYS, _LEAVES | st.dictionaries(_METADATA_KEYS, _LEAVES, max_size=2), max_size=2
)


@st.composite
def _items(draw: st.DrawFn) -> EmbeddedMemory:
    number = draw(NUMBERS)
    stored = memory(
        CONTENTS[number],
        *draw(_tags),
        at=draw(_moments),
        namespace=draw(NAMESPACES),
        memory_type=draw(_types),
        metadata=draw(_metadata),
        session=draw(st.sampled_from([None, "s1", "s2"])),
        sequence=draw(st.sampled_from([None, 0, 1, 2, 3])),
        source=draw(st.sampled_from([None, "mail", "mail/inbox", "chat"])),
    )
    stored = replace(stored, pinned=draw(st.booleans()), expires_at=draw(_ends))
    superseded = draw(st.just(()) | st.lists(HASHES, max_size=2).map(tuple))
    return replace(embedded(stored, *draw(_windows)), supersedes=superseded)


ITEMS = _items()
BATCHES = st.lists(_items(), min_size=1, max_size=4)
PATCHES = st.builds(
    MemoryPatch,
    tags=st.none() | _tags,
    memory_type=st.sampled_from([UNSET, None, "note", "fix"]),
    metadata=st.none() | _metadata,
    pinned=st.sampled_from([None, None, True, False]),
    expires_at=st.just(UNSET) | _ends,
)
EDITS = st.tuples(PATCHES, st.sampled_from(CONTENTS)).map(lambda drawn: replace(drawn[0], content=drawn[1]))
CHUNKS = _windows.map(lambda windows: tuple(vector(*numbers) for numbers in windows))
PREFIX_DIGITS = st.sampled_from([8, 12, 64])
EDGES = st.lists(
    st.builds(
        Edge, from_id=HASHES, to=HASHES, kind=st.sampled_from(["mentions", "link"]),
        weight=st.sampled_from([0.25, 1.0]), by_name=st.just(False),
    ),
    min_size=1, max_size=3,
)  # fmt: skip
QUERIES = st.sampled_from(["which port", "how large"])
FILTERS = st.just(MemoryFilter()) | st.builds(
    MemoryFilter,
    namespace=SECTIONS,
    tags=st.lists(st.sampled_from(_FOLDED), max_size=2, unique=True).map(tuple),
    tag_match=st.sampled_from(["any", "all"]),
    types=st.lists(st.sampled_from(["note", "fix"]), max_size=2, unique=True).map(tuple),
    after=st.none() | _moments,
    before=st.none() | _moments,
    scope=st.sampled_from([None, None, "mail", "mail/", "ma"]),
    kinds=st.sampled_from([(), (), ("memory",), ("note",)]),
    pinned=st.sampled_from([None, None, None, True, False]),
    alive_at=st.none() | _later_moments,
    expired_by=st.none() | st.none() | _later_moments,
    as_of=st.none() | st.none() | _later_moments,
    ended_before=st.none() | st.none() | _later_moments,
)
