"""What is wrong with the links of a vault, and which notes stand out by them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .links import LinkResolver
from .note import RawLink

HUB_LINKS = 20
"""So many notes link to a hub: an index or a map of contents, whose links say little about any one note."""


@dataclass(frozen=True, slots=True)
class LinkProblem:
    """A link that does not lead where it should."""

    path: str
    line: int
    link: str
    """As it is written: the target, and `#` with the anchor if there is one."""
    candidates: tuple[str, ...] = ()
    """Which notes it may mean."""


@dataclass(frozen=True, slots=True)
class HubNote:
    path: str
    links_in: int
    """How many other notes link to it."""


@dataclass(frozen=True, slots=True)
class VaultReport:
    """Problems in the order of paths and lines, orphans in that of their paths, hubs from the largest."""

    resolved: int
    """How many links lead to a note."""
    broken: tuple[LinkProblem, ...]
    ambiguous: tuple[LinkProblem, ...]
    missing_anchors: tuple[LinkProblem, ...]
    """They lead to the note, but not to the place in it."""
    orphans: tuple[str, ...]
    """Notes without a link to or from another note."""
    hubs: tuple[HubNote, ...]


def check_notes(
    links: Mapping[str, Iterable[RawLink]], resolver: LinkResolver, hub_links: int = HUB_LINKS
) -> VaultReport:
    """The links of every note, by its path."""
    problems: defaultdict[str, list[LinkProblem]] = defaultdict(list)
    linked_from: defaultdict[str, set[str]] = defaultdict(set)
    linking: set[str] = set()
    resolved = 0
    for path in sorted(links):
        for link in sorted(links[path], key=lambda link: link.line):
            found = resolver.resolve(path, link)
            resolved += found.path is not None
            if found.status != "resolved":
                written = f"{link.target}#{link.anchor}" if link.anchor else link.target
                problems[found.status].append(LinkProblem(path, link.line, written, found.candidates))
            if found.path not in {None, path}:
                linked_from[str(found.path)].add(path)
                linking.add(path)
    hubs = [HubNote(path, len(sources)) for path, sources in linked_from.items() if len(sources) >= hub_links]
    return VaultReport(
        resolved,
        tuple(problems["broken"]),
        tuple(problems["ambiguous"]),
        tuple(problems["missing_anchor"]),
        tuple(sorted(set(links) - linking - set(linked_from))),
        tuple(sorted(hubs, key=lambda hub: (-hub.links_in, hub.path))),
    )
