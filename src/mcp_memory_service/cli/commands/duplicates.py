"""`duplicates`: memories that say nearly the same, listed and merged."""

import asyncio
import sys
from collections.abc import Sequence
from typing import Any

import click

from ...access.caller import OWNER
from ...access.error_table import ExitCode
from ...bootstrap import open_existing
from ...config import Settings
from ...errors import InvalidInput, MemoryNotFound
from ...schemas import SIMILAR_CHARS, SimilarOut
from ...services import DEFAULT_THRESHOLD, Cluster, Duplicates, find_duplicates, merge_cluster
from ...timestamps import now_microseconds
from ..flags import PLAIN_JSON, tag_option, with_settings
from ..progress import ProgressLine
from ..rendering import render_clusters, show
from ..terminal import say


@click.command()
@click.option(
    "--threshold",
    type=float,
    default=DEFAULT_THRESHOLD,
    show_default=True,
    help="Cosine similarity from which two memories count as the same, 0.5 to 1",
)
@tag_option("Only memories with this tag")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="How many clusters to list and to merge, largest first",
)
@click.option("--merge", "is_merge", is_flag=True, help="Merge what is listed, after a question")
@click.option("--yes", is_flag=True, help="With --merge: do not ask")
@PLAIN_JSON
@with_settings()
def duplicates(
    threshold: float,
    tags: tuple[str, ...],
    limit: int,
    is_merge: bool,
    yes: bool,
    settings: Settings,
    as_json: bool,
) -> None:
    """List memories that say nearly the same, and merge them.

    Of each cluster the newest is kept. With --merge it takes the tags and metadata of the others, its own first, and
    supersedes them: they leave results and counts and stay in the history. Without --merge nothing is changed.

    \b
    Example:
      mcp-memory duplicates --threshold 0.85
      mcp-memory duplicates --merge
    """
    found = asyncio.run(_found(settings, threshold, tags))
    listed = found.clusters[:limit]
    if not as_json:
        say(render_clusters(found, listed, threshold))
    agreed = is_merge and bool(listed) and (yes or _confirmed(listed))
    merged = asyncio.run(_merged(settings, listed)) if agreed else []
    if as_json:
        show(_as_json(found, listed, merged), "", as_json=True)
    elif agreed:
        say(f"\nMerged: {_superseded(merged):,} memories superseded by {len(merged):,}.")
    elif listed:
        say("\nNothing is changed." + ("" if is_merge else " --merge merges what is listed."))
    if agreed and len(merged) < len(listed):
        sys.exit(ExitCode.INCOMPLETE)


def _confirmed(listed: Sequence[Cluster]) -> bool:
    return click.confirm(f"Supersede {_superseded(listed):,} memories by {len(listed):,}?", err=True)


def _superseded(clusters: Sequence[Cluster]) -> int:
    return sum(len(cluster.others) for cluster in clusters)


async def _found(settings: Settings, threshold: float, tags: tuple[str, ...]) -> Duplicates:
    namespace = OWNER.namespace(settings.namespace)
    async with open_existing(settings) as storage:
        return await find_duplicates(storage, namespace, now_microseconds(), ProgressLine(), threshold, tags)


async def _merged(settings: Settings, clusters: tuple[Cluster, ...]) -> list[Cluster]:
    """Those that could be; of the others it is said why not."""
    merged: list[Cluster] = []
    progress = ProgressLine()
    async with open_existing(settings) as storage:
        for done, cluster in enumerate(clusters):
            progress("Merging clusters", done, len(clusters))
            try:
                await merge_cluster(storage, cluster, now_microseconds())
            except (InvalidInput, MemoryNotFound) as error:
                say(f"Left out {cluster.kept.content_hash}. {error.message} [{error.code}]", err=True)
            else:
                merged.append(cluster)
    progress("Merging clusters", len(clusters), len(clusters))
    return merged


def _as_json(found: Duplicates, listed: tuple[Cluster, ...], merged: list[Cluster]) -> dict[str, Any]:
    return {
        "compared": found.compared,
        "total": len(found.clusters),
        "clusters": [
            {
                "id": cluster.kept.content_hash,
                "text": cluster.kept.content[:SIMILAR_CHARS],
                "similar": [SimilarOut.of(each).model_dump() for each in cluster.others],
                "merged": cluster in merged,
            }
            for cluster in listed
        ],
    }
