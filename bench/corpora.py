"""Memories to fill stores with: real texts, with random vectors of the usual length or with true ones."""

import gzip
import json
import re
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from random import Random

import numpy as np

from mcp_memory_service.models import EmbeddedMemory, Memory, Vector, content_hash

ROOT = Path(__file__).parent.parent
DIMENSION = 384
MAX_TAGS = 20
MIN_WORDS = 4
QUERY_WORDS = 6

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


def texts_of(data: Path | None) -> list[tuple[str, tuple[str, ...]]]:
    file = data / "corpus.jsonl.gz" if data else ROOT / "tests" / "eval" / "memories.jsonl"
    with gzip.open(file, "rt") if data else file.open() as lines:
        rows = [json.loads(line) for line in lines]
    return [(row.get("text") or row["content"], tuple(row.get("tags") or ())) for row in rows]


def memories(count: int, data: Path | None) -> list[EmbeddedMemory]:
    chance = np.random.default_rng(1)
    made: list[EmbeddedMemory] = []
    for number, (text, tags) in enumerate(islice(cycle(texts_of(data)), count)):
        content = f"{text} ({number})"  # so that none comes twice
        vector = unit_vector(chance)
        note = Memory(content, content_hash(content), number, number, tags=tags[:MAX_TAGS], memory_type="note")
        made.append(EmbeddedMemory(note, (vector,)))
    return made


def unit_vector(chance: np.random.Generator) -> Vector:
    vector = chance.normal(size=DIMENSION).astype(np.float32)
    vector /= np.linalg.norm(vector)
    return vector


def sentences_of(data: Path | None) -> dict[str, tuple[str, ...]]:
    """Each sentence of at least four words once, in the order of first appearance, with the tags of its document."""
    found: dict[str, tuple[str, ...]] = {}
    for text, tags in texts_of(data):
        for part in _SENTENCE_END.split(text):
            sentence = part.strip()
            if len(sentence.split()) >= MIN_WORDS:
                found.setdefault(sentence, tags[:MAX_TAGS])
    return found


def recombined(sentences: Sequence[str], count: int, seed: int = 1) -> Iterator[tuple[str, list[int]]]:
    """Texts of two or three different sentences, none twice and none a sentence by itself, and of which they are made.
    The first ones are the same however many are asked for."""
    chance = Random(seed)
    made = set(sentences)
    for _ in range(count):
        text, parts = "", list[int]()
        while not text or text in made:
            parts = chance.sample(range(len(sentences)), chance.choice((2, 3)))
            text = " ".join(sentences[part] for part in parts)
        made.add(text)
        yield text, parts


def queries_of(data: Path) -> list[str]:
    with gzip.open(data / "queries.jsonl.gz", "rt") as lines:
        return [json.loads(line)["text"] for line in lines]


def made_queries(sentences: Sequence[str], count: int, seed: int = 2) -> list[str]:
    """Some words in a row of some sentence, no query twice; fewer if the sentences do not have as many."""
    chance = Random(seed)
    made: dict[str, None] = {}
    for _ in range(4 * count):
        words = chance.choice(sentences).split()
        start = chance.randrange(max(1, len(words) - QUERY_WORDS + 1))
        made[" ".join(words[start : start + QUERY_WORDS])[:500]] = None
        if len(made) == count:
            break
    return list(made)
