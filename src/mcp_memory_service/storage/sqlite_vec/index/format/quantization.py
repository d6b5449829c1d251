"""Quantized vectors: sign bits, compared by counting those that differ, and bytes to score the nearest by."""

from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .....models import Vector

WORD_BITS = 64
ROUNDS = 2
SEED = 20_261_116
"""Any number, but always the same: an index is made again exactly as it was."""

# As many as stay in the cache of a core.
SCANNED_AT_ONCE = 32_768
COMPARED_AT_ONCE = 512
SAMPLE_STEP = 17
"""No power of two: things are often written in turns of those."""
SAMPLED_FROM = 1_000
"""Below this many wanted, a sample says too little about the threshold."""

SCANNED_IN_STEPS = 300_000
"""From so many codes on, half of their words decide which are compared with all of them: memory is what a scan of more
waits for."""
MIN_WORDS_FOR_STEPS = 4
KEPT_BY_FIRST_STEP = 25
"""One of so many codes: with 384 bits, all ten nearest of a million are among them (docs/benchmarks.md)."""

Codes = NDArray[np.uint64]
Counts: TypeAlias = NDArray[np.uint8 | np.uint16]


@dataclass(frozen=True, slots=True)
class Quantizer:
    """Centres vectors and rotates them before their signs are taken: without that, dimensions that have one sign in all
    vectors of a model say nothing, and a few large ones count no more than the others.

    The rotation is made of random signs, Hadamard transforms and random orders. A random matrix does no better, takes
    memory, and its product with a query would run on threads that fight those of other searches for the cores.
    """

    mean: NDArray[np.float32]
    exact: bool = False
    """Whether vectors are stored as they are beside their codes, not as bytes."""

    @classmethod
    def fitted(cls, sample: NDArray[np.float32], *, exact: bool = False) -> "Quantizer":
        mean = unit_length(sample).mean(axis=0, dtype=np.float64) if len(sample) else np.zeros(sample.shape[1])
        return cls(mean.astype(np.float32), exact)

    def stored(self, vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8 | np.float32], NDArray[np.float32]]:
        """As `similarities` take them: bytes and scales; or as `exact_similarities` do: the vectors and the sums of
        their squares."""
        if self.exact:
            return vectors, _added_in_order(np.ascontiguousarray((vectors * vectors).T))
        return as_bytes(vectors)

    def codes(self, vectors: NDArray[np.float32]) -> Codes:
        """The bits of each vector in a column of its own, 64 to a row."""
        centred = unit_length(vectors) - self.mean
        packed = np.packbits(_rotated(centred) > 0, axis=1, bitorder="little")
        return np.ascontiguousarray(packed.view(np.uint64).T)


def _rotated(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """As many numbers as make up whole words of bits."""
    count, dimension = vectors.shape
    size = -(-dimension // WORD_BITS) * WORD_BITS
    rotated: NDArray[np.float32] = np.zeros((count, size), np.float32)
    rotated[:, :dimension] = vectors
    for signs, order in _rounds(size):
        sums = np.matmul((rotated * signs).reshape(-1, WORD_BITS), _hadamard(), dtype=np.float32)
        rotated = sums.reshape(count, size).take(order, axis=1)
    return rotated


@cache
def _rounds(size: int) -> list[tuple[NDArray[np.float32], NDArray[np.intp]]]:
    chance = np.random.default_rng(SEED)
    return [(chance.choice(np.array([-1, 1], np.float32), size), chance.permutation(size)) for _ in range(ROUNDS)]


@cache
def _hadamard() -> NDArray[np.float32]:
    """Sums and differences of 64 numbers, but for a factor, which signs do not show."""
    matrix: NDArray[np.float64] = np.ones((1, 1), np.float64)
    while len(matrix) < WORD_BITS:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix.astype(np.float32)


def unit_length(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """With lengths in double precision: squares of numbers next to 0 would have none."""
    exact = vectors.astype(np.float64)
    return (vectors / np.sqrt(np.add.reduce(exact * exact, axis=1, keepdims=True))).astype(np.float32)


def as_bytes(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Each vector, made as long as 1, as bytes and the number they are multiples of."""
    units = unit_length(vectors)
    scales = (np.abs(units).max(axis=1, initial=0.0) / 127).astype(np.float32)
    return np.rint(units / scales[:, None]).astype(np.int8), scales


def similarities(
    stored: NDArray[np.int8 | np.float32], scales: NDArray[np.float32], rows: NDArray[np.intp], query: Vector
) -> NDArray[np.float32]:
    """Cosines to within about 0.002; `query` has the length 1."""
    products = np.empty(rows.size, np.float32)
    for start in range(0, rows.size, COMPARED_AT_ONCE):
        some = rows[start : start + COMPARED_AT_ONCE]
        # Row by row, not as a product of matrices: its threads would fight those of other searches for the cores.
        np.vecdot(stored.take(some, axis=0).astype(np.float32), query, out=products[start : start + some.size])
    return products * scales[rows]


def exact_similarities(
    stored: NDArray[np.int8 | np.float32], squares: NDArray[np.float32], rows: NDArray[np.intp], query: Vector
) -> NDArray[np.float64]:
    """Cosines as `vec_distance_cosine` of sqlite-vec has them, to the last bit, so that it makes no difference whether
    rows or an index are searched: sums in single precision, dimension after dimension."""
    upright = stored.T if rows.size == len(stored) else stored.T.take(rows, axis=1)  # rows are in order
    dots = np.empty(rows.size, np.float32)
    for start in range(0, rows.size, COMPARED_AT_ONCE):
        products = np.multiply(upright[:, start : start + COMPARED_AT_ONCE], query[:, None], order="C")
        dots[start : start + COMPARED_AT_ONCE] = _added_in_order(products)
    of_query = _added_in_order((query * query)[:, None])[0]
    lengths = np.sqrt(squares[rows].astype(np.float64)) * np.sqrt(of_query.astype(np.float64))
    distances = (1.0 - dots / lengths).astype(np.float32)
    return 1.0 - distances.astype(np.float64)


def _added_in_order(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """One row after the other; numbers of a single column numpy would add in pairs."""
    return np.add.reduce(rows, axis=0) if rows.shape[1] > 1 else np.add.accumulate(rows, axis=0)[-1]


def nearest_codes(
    codes: Codes, query: NDArray[np.uint64], wanted: int, passing: NDArray[np.bool_] | None
) -> NDArray[np.intp]:
    """About the `wanted` codes that are nearest to the query, of those that pass, which must be more than that."""
    words, count = codes.shape
    in_steps = count >= SCANNED_IN_STEPS and words >= MIN_WORDS_FOR_STEPS
    first = words // 2 if in_steps else words
    differing = differing_bits(codes[:first], query[:first])
    if not in_steps:
        return about_smallest(differing, wanted, passing)
    rows = about_smallest(differing, max(count // KEPT_BY_FIRST_STEP, 4 * wanted), passing)
    of_all_words = differing_bits(codes[first:].take(rows, axis=1), query[first:]) + differing[rows].astype(np.uint16)
    return rows[about_smallest(of_all_words, wanted)]


def differing_bits(codes: Codes, query: NDArray[np.uint64]) -> Counts:
    """How many bits of each code differ from those of the query."""
    words, count = codes.shape
    differing = np.zeros(count, np.uint8 if words * WORD_BITS < np.iinfo(np.uint8).max else np.uint16)
    xored = np.empty(min(count, SCANNED_AT_ONCE), np.uint64)
    bits = np.empty(xored.size, np.uint8)
    for start in range(0, count, SCANNED_AT_ONCE):
        block = differing[start : start + SCANNED_AT_ONCE]
        size = block.size
        for row, word in zip(codes, query, strict=True):
            np.bitwise_xor(row[start : start + size], word, out=xored[:size])
            np.bitwise_count(xored[:size], out=bits[:size])
            np.add(block, bits[:size], out=block)
    return differing


def about_smallest(values: Counts, wanted: int, passing: NDArray[np.bool_] | None = None) -> NDArray[np.intp]:
    """The positions of the `wanted` smallest values of those that pass, and of those equal to the last of them. Of many
    values, a sample gives the threshold, so that it may be a tenth more or fewer."""
    # Sampled among those that pass: in a sample of all, what is written in turns could have no places, or all.
    places = None if passing is None else passing.nonzero()[0]
    count = values.size if places is None else places.size
    if count <= wanted:
        return np.arange(count) if places is None else places
    step = SAMPLE_STEP if wanted >= SAMPLED_FROM else 1
    sample = values[::step] if places is None else values[places[::step]]
    place = min(wanted * sample.size // count, sample.size - 1)
    threshold = np.bincount(sample).cumsum().searchsorted(place, side="right")
    near = values <= threshold
    return (near if passing is None else near & passing).nonzero()[0]
