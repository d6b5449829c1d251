"""Which vectors are compared more closely is decided by bits: of those that pass, and in one step or two."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from mcp_memory_service.storage.sqlite_vec.file.connection import connect
from mcp_memory_service.storage.sqlite_vec.index.format import quantization
from mcp_memory_service.storage.sqlite_vec.index.format.quantization import (
    Quantizer,
    about_smallest,
    differing_bits,
    exact_similarities,
    nearest_codes,
)

COUNT, DIMENSION, WANTED, NEAR = 30_000, 384, 1_000, 50

Vectors = NDArray[np.float32]


def random_vectors(seed: int, count: int) -> Vectors:
    return np.random.default_rng(seed).normal(size=(count, DIMENSION)).astype(np.float32)


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    """The first ones are near to the first of all."""
    vectors = random_vectors(1, COUNT)
    vectors[:NEAR] = vectors[0] + random_vectors(2, NEAR) / 2
    return vectors


@pytest.fixture(params=["one step", "two steps"])
def _steps(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantization, "SCANNED_IN_STEPS", COUNT if request.param == "two steps" else COUNT + 1)


@pytest.mark.usefixtures("_steps")
@pytest.mark.parametrize("share", [None, 0.9, 0.1])
def test_the_nearest_that_pass_are_found_and_none_that_do_not(vectors: Vectors, share: float | None):
    quantizer = Quantizer.fitted(vectors)
    passing = None if share is None else np.random.default_rng(3).random(COUNT) < share
    query = quantizer.codes(vectors[:1])[:, 0]
    rows = nearest_codes(quantizer.codes(vectors), query, WANTED, passing)
    asked = np.arange(COUNT) if passing is None else np.flatnonzero(passing)
    assert set(rows.tolist()) <= set(asked.tolist())
    assert set(asked[asked < NEAR].tolist()) <= set(rows.tolist())
    assert WANTED * 0.7 < rows.size < WANTED * 1.5


@pytest.mark.parametrize("offset", [0, 5])
def test_what_was_written_in_turns_is_sampled_by_itself(offset: int):
    values = np.random.default_rng(5).integers(100, 200, COUNT).astype(np.uint16)
    passing = np.zeros(COUNT, np.bool_)
    passing[offset :: quantization.SAMPLE_STEP] = True
    rows = about_smallest(values, WANTED, passing)
    assert passing[rows].all()
    assert WANTED * 0.7 < rows.size < WANTED * 1.5


def test_vectors_of_many_dimensions_have_more_bits_than_a_byte_counts():
    vector = np.random.default_rng(4).normal(size=1024).astype(np.float32)
    vectors = np.stack([vector, -vector])
    of_them = Quantizer(np.zeros(1024, np.float32)).codes(vectors)
    assert differing_bits(of_them, of_them[:, 0]).tolist() == [0, 1024]


@pytest.mark.parametrize("count", [1, 2, 3, 511, 512, 513, 1025])
def test_exact_similarities_are_those_of_the_database_to_the_last_bit(count: int, tmp_path: Path):
    chance = np.random.default_rng(count)
    vectors = (chance.normal(size=(count, 384)) * chance.uniform(0.1, 9, (count, 1))).astype(np.float32)
    query = chance.normal(size=384).astype(np.float32)
    stored, squares = Quantizer(np.zeros(384, np.float32), exact=True).stored(vectors)
    rows = np.flatnonzero(chance.random(count) < 0.7)
    (tmp_path / "any.db").touch()
    connection = connect(tmp_path / "any.db", read_only=False)
    distances = [
        connection.execute("SELECT 1.0 - vec_distance_cosine(?, ?)", (vector.tobytes(), query.tobytes())).get
        for vector in vectors
    ]
    connection.close()
    for layout in (stored, np.asfortranarray(stored)):
        assert exact_similarities(layout, squares, np.arange(count), query).tolist() == distances
        chosen = exact_similarities(layout, squares, rows, query).tolist()
        assert chosen == [distances[row] for row in rows]
