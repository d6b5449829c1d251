"""Text that is cut into words before its writer has its turn, so that nobody waits for a long one."""

from collections.abc import Iterable

from ...models import IndexedText, Memory, content_hash
from ..merging import first_form
from ..ports import TextAnalyzer


class PreparedText:
    """A text analyzer that has done most of its work. Labels are cut apart from the text: those that a memory has in
    the end are known inside the transaction only."""

    def __init__(self, analyze: TextAnalyzer, memories: Iterable[Memory]) -> None:
        self._analyze = analyze
        self._of_content: dict[str, IndexedText] = {}
        self._of_labels: dict[tuple[str, ...], IndexedText] = {}
        for memory in memories:
            self._of_content[content_hash(memory.content)] = analyze(memory.content, ())
            labels = first_form(memory).labels
            self._of_labels[labels] = analyze("", labels)

    def __call__(self, content: str, labels: Iterable[str]) -> IndexedText:
        """Of what was not prepared, the words are cut now."""
        text = self._of_content.get(content_hash(content)) or self._analyze(content, ())
        other = self._of_labels.get(tuple(labels)) or self._analyze("", tuple(labels))
        return IndexedText(f"{text.labels} {other.labels}".strip(), text.words, f"{text.names} {other.names}".strip())
