"""How much of which memory an answer shows, so that it stays within its budget of characters."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from ..hybrid_search import MAX_PASSAGE_CHARS
from ..services.search.results import Passage
from .fence import ours, quoted

# What is listed at all is shown this far, if it is that long.
MIN_CONTENT_CHARS = 200
# Of one memory among several; get_memory has the rest.
# What an answer takes beside its memories.
FRAME_CHARS = 500
# What says where a cut text goes on.
HINT_CHARS = 100


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory as it is to be shown."""

    head: str
    """Lines of ours."""
    id: str
    content_chars: int
    passages: tuple[Passage, ...]

    @classmethod
    def of(cls, head: str, short_id: str, content: str, passages: tuple[Passage, ...] = ()) -> "Entry":
        """Short contents whole, long ones as their passages, or their beginning."""
        if len(content) <= MAX_PASSAGE_CHARS:
            passages = (Passage(0, content),)
        return cls(head, short_id, len(content), passages or (Passage(0, content[:MAX_PASSAGE_CHARS]),))

    def shown(self, room: int) -> str:
        """With as much of the passages as takes about `room` characters."""
        lines, end = [self.head], 0
        for passage in self.passages:
            text = passage.text[: fitting_chars(passage.text, room)]
            if passage.start:
                lines.append(ours(f"from character {passage.start}:"))
            lines.append(quoted(text))
            room -= len(lines[-1])
            end = passage.start + len(text)
            if room <= 0 or len(text) < len(passage.text):
                break
        return "\n".join([*lines, *self._hint(end)])

    def _hint(self, end: int) -> list[str]:
        if end < self.content_chars:
            return [ours(f"goes on: get_memory(id={self.id}, offset={end}); {self.content_chars} characters in all")]
        if self.passages[0].start:
            return [ours(f"from the beginning: get_memory(id={self.id})")]
        return []


def fitted(entries: Sequence[Entry], budget: int) -> list[str]:
    """The first of the entries, as many as fit with at least the beginning of their contents; one in any case."""
    room = budget - FRAME_CHARS
    around = [len(entry.head) + HINT_CHARS for entry in entries]
    lengths = [sum(len(quoted(passage.text)) for passage in entry.passages) for entry in entries]
    needed = accumulate(extra + min(length, MIN_CONTENT_CHARS) for extra, length in zip(around, lengths, strict=True))
    count = min(len(entries), max(1, sum(used <= room for used in needed)))
    shares = content_shares(lengths[:count], room - sum(around[:count]))
    return [entry.shown(share) for entry, share in zip(entries, shares, strict=False)]


def content_shares(lengths: Sequence[int], room: int) -> list[int]:
    """How many characters of each content fit: short ones are whole, the room they leave goes to the long ones."""
    shares = [0] * len(lengths)
    for done, position in enumerate(sorted(range(len(lengths)), key=lengths.__getitem__)):
        fair = max(MIN_CONTENT_CHARS, room // (len(lengths) - done))
        shares[position] = min(lengths[position], fair)
        room -= shares[position]
    return shares


def fitting_chars(text: str, room: int) -> int:
    """How much of a text, at least a character, takes at most `room` characters in its fence."""
    longest = min(len(text), max(1, room))
    return max(1, bisect_right(range(1, longest + 1), room, key=lambda chars: len(quoted(text[:chars]))))
