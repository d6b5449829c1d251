"""Where the vocabulary of a namespace is kept beside a store file, so that its terms are not embedded again.

It holds words of memories: who purges a memory removes all of these files, and no process that has read the memories
before can put one back. For a file is begun before they are read, and it loses its name with the purge.
"""

import hashlib
import logging
import os
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from glob import escape
from pathlib import Path

import numpy as np

from ..hybrid_search.concepts import Vocabulary
from ..private_files import NO_FOLLOW, new_private_file

logger = logging.getLogger(__name__)

FORMAT = "1"
_UNREADABLE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile)


def concept_file(store: Path, namespace: str) -> Path:
    """By a digest, for a namespace may have slashes and be long."""
    return store.with_name(f"{_prefix(store)}{hashlib.sha256(namespace.encode()).hexdigest()[:16]}")


@dataclass(frozen=True, slots=True)
class ConceptDraft:
    """A file that has no name yet; begun before the memories are read."""

    part: Path
    target: Path

    def keep(self, vocabulary: Vocabulary, model_id: str) -> bool:
        """Put it in the place of the file before; False if memories were purged since it was begun. Not synced: after a
        power cut its checksums tell."""
        try:
            with self.part.open("r+b") as file:
                np.savez(
                    file,
                    about=np.array([FORMAT, model_id, str(vocabulary.memories)]),
                    terms=np.frombuffer("\n".join(vocabulary.terms).encode(), np.uint8),
                    vectors=vocabulary.vectors,
                )
            self.part.replace(self.target)
        except FileNotFoundError:
            return False
        return True


@contextmanager
def concept_draft(store: Path, namespace: str) -> Generator[ConceptDraft, None, None]:
    target = concept_file(store, namespace)
    with new_private_file(target) as part:
        yield ConceptDraft(part, target)


def read_concepts(store: Path, namespace: str, model_id: str) -> Vocabulary | None:
    """None if there is none that can be read, or it is of another model: it is made anew then."""
    try:
        # Not waiting for a pipe that somebody has put there.
        descriptor = os.open(concept_file(store, namespace), os.O_RDONLY | NO_FOLLOW | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file, np.load(file, allow_pickle=False) as kept:
            of_format, of_model, memories = kept["about"].tolist()
            if (of_format, of_model) != (FORMAT, model_id):
                return None
            terms, vectors = kept["terms"].tobytes().decode(), kept["vectors"]
            words = tuple(terms.split("\n")) if terms else ()
            return Vocabulary(words, vectors, int(memories)) if len(words) == len(vectors) else None
    except FileNotFoundError:
        return None
    except _UNREADABLE as error:
        logger.warning("The vocabulary for query expansion cannot be read, and is made anew: %s", error)
        return None


def remove_concept_files(store: Path) -> None:
    """Those that are being written first: else one could get its name after the others are gone."""
    for pattern in (f".{escape(_prefix(store))}*.part", f"{escape(_prefix(store))}*"):
        for file in store.parent.glob(pattern):
            file.unlink(missing_ok=True)


def _prefix(store: Path) -> str:
    return f"{store.name}-concepts-"
