"""Texts grouped by length, so that a batch is padded little and bounded in size."""

from collections.abc import Iterator, Sequence


def batches_by_length(lengths: Sequence[int], max_padded: int) -> Iterator[list[int]]:
    """Positions grouped shortest first, each group at most `max_padded` when padded to its longest; one that is
    longer by itself makes a group of its own."""
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[position] > max_padded:
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch
