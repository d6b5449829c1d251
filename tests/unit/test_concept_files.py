"""The files of vocabularies: private, checked, and never put back after a purge."""

import os
import stat
from pathlib import Path

import numpy as np
import pytest

from mcp_memory_service.hybrid_search.concepts import Vocabulary
from mcp_memory_service.private_files import remove_abandoned
from mcp_memory_service.storage.concept_files import (
    concept_draft,
    concept_file,
    read_concepts,
    remove_concept_files,
)

MODEL = "words-4"
KNOWN = Vocabulary(("größe", "tunnel"), np.eye(2, 4, dtype=np.float32), memories=7)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store [1].db"
    path.touch()
    return path


def write(store: Path, namespace: str = "default", vocabulary: Vocabulary = KNOWN) -> bool:
    with concept_draft(store, namespace) as draft:
        return draft.keep(vocabulary, MODEL)


def beside(store: Path) -> list[str]:
    return sorted(file.name for file in store.parent.iterdir() if file != store)


@pytest.mark.parametrize("vocabulary", [KNOWN, Vocabulary((), np.zeros((0, 0), np.float32), memories=0)])
def test_what_was_kept_is_read_again(store: Path, vocabulary: Vocabulary):
    assert write(store, vocabulary=vocabulary)
    found = read_concepts(store, "default", MODEL)
    assert found is not None
    assert (found.terms, found.memories) == (vocabulary.terms, vocabulary.memories)
    assert np.array_equal(found.vectors, vocabulary.vectors)
    assert beside(store) == [concept_file(store, "default").name]


def test_each_namespace_has_a_file_of_its_own_and_another_model_has_none(store: Path):
    write(store, "team/alice")
    assert read_concepts(store, "team/bob", MODEL) is None
    assert read_concepts(store, "team/alice", "another-model") is None


def test_a_file_is_readable_by_its_owner_alone(store: Path):
    write(store)
    assert stat.S_IMODE(concept_file(store, "default").stat().st_mode) == 0o600


def test_a_damaged_file_is_no_vocabulary(store: Path):
    write(store)
    file = concept_file(store, "default")
    whole = file.read_bytes()
    at = whole.index(b"tunnel")
    for damaged in (b"", whole[: len(whole) // 2], b"PK\x03\x04 no archive", whole[:at] + b"x" + whole[at + 1 :]):
        file.write_bytes(damaged)
        assert read_concepts(store, "default", MODEL) is None


def test_links_and_pipes_are_not_followed(store: Path, tmp_path: Path):
    write(store)
    file, elsewhere = concept_file(store, "default"), tmp_path / "elsewhere"
    file.rename(elsewhere)
    before = elsewhere.read_bytes()
    file.symlink_to(elsewhere)
    assert read_concepts(store, "default", MODEL) is None
    write(store, vocabulary=Vocabulary(("relay",), np.eye(1, 4, dtype=np.float32), memories=2))
    assert elsewhere.read_bytes() == before, "the link was replaced, and what it led to was not"
    assert not file.is_symlink()
    file.unlink()
    os.mkfifo(file)
    assert read_concepts(store, "default", MODEL) is None


def test_all_files_of_a_store_are_removed_and_no_others(store: Path, tmp_path: Path):
    for namespace in ("default", "team/alice"):
        write(store, namespace)
    other = tmp_path / "store 1.db"
    write(other)
    remove_concept_files(store)
    assert beside(store) == [concept_file(other, "default").name]


def test_what_was_begun_before_a_purge_is_not_kept(store: Path):
    with concept_draft(store, "default") as draft:
        remove_concept_files(store)
        assert remove_abandoned(store.parent) == [], "nothing is left to warn of"
        assert not draft.keep(KNOWN, MODEL)
    assert beside(store) == []
