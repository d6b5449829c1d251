"""Results as Markdown tables that can be read in a terminal as they are."""

from collections.abc import Mapping, Sequence

from .confidence import PairedDifference


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with columns of even width, readable as it is."""
    widths = [max(len(line[column]) for line in [header, *rows]) for column in range(len(header))]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    )


def difference_table(differences: Mapping[tuple[str, str], PairedDifference]) -> str:
    """Differences in NDCG@10, by the row and the row that it is compared with."""
    return markdown_table(
        ["difference in NDCG@10", "to", "mean", "95 %, paired", ""],
        [
            [
                row,
                reference,
                f"{difference.mean:+.4f}",
                "{:+.4f} to {:+.4f}".format(*difference.interval_95),
                difference.verdict,
            ]
            for (row, reference), difference in differences.items()
        ],
    )
