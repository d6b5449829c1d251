"""The graph signal: what the best of a ranking point at, or are pointed at by, is lent a part of their score.

What answers a question often shares no word with it, and is linked from what does. How far a link can be trusted
depends on its direction and on how many there are at both its ends (docs/adr/0024).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from ..models import SHOWN_DIGITS, Candidate, EdgeKind, Linked, in_document_order
from .policy import RankingPolicy

Direction: TypeAlias = Literal["out", "back"]

# So many of the best lend: five lose .01 of NDCG@10, twenty gain nothing (docs/adr/0024).
LEADERS = 10
# A link back counts half of a link out.
BACK_SHARE = 0.5
# What more memories than this point at, or what points at more, is linked for no reason of its own.
POPULAR = 10


class Route(NamedTuple):
    """The link by which a memory was reached."""

    memory: str
    """The id of the one it was reached from."""
    kind: EdgeKind
    direction: Direction
    """`out`: that one points at it; `back`: it points at that one."""
    distance: int
    """Links between it and what a signal found."""

    @property
    def words(self) -> str:
        """As people and models read it: `link from` the memory that points at it, `link to` the one it points at."""
        way = "from" if self.direction == "out" else "to"
        far = f", {self.distance} links away" if self.distance > 1 else ""
        return f"{self.kind} {way} {self.memory[:SHOWN_DIGITS]}{far}"


class LinkBoost(NamedTuple):
    score: float
    route: Route


@dataclass(frozen=True, slots=True)
class Links:
    """Where the best of a ranking lead."""

    leaders: Sequence[Candidate]
    hops: tuple[Sequence[Linked], ...]
    """What the leaders are linked with, then what those are."""
    policy: RankingPolicy
    brings_in: bool = True
    """Whether memories join the ranking that no signal found."""

    @property
    def candidates(self) -> list[Candidate]:
        return [*self.leaders, *(linked.candidate for hop in self.hops for linked in hop)]


def link_boosts(links: Links, scores: Mapping[str, float], best: float) -> dict[str, LinkBoost]:
    """What links add to the score of each memory: the most that one of them does. `scores` has those that a signal
    found, and `best` is the greatest score there is.

    A link to a document of several memories leads to those of them that were found, each in proportion to its own
    score, or else to the first.
    """
    boosts: dict[str, LinkBoost] = {}
    if links.policy.graph_weight <= 0.0 or best <= 0.0:
        return boosts
    leading = scores
    for distance, hop in enumerate(links.hops, start=1):
        for found in _by_edge(hop):
            lead = leading.get(found[0].asked, 0.0)
            for each, share in _receivers(found, scores, brings_in=links.brings_in):
                own = scores.get(each, 0.0)
                score = _lifted(own, share * _strength(found[0], links.policy), lead, best, links.policy) - own
                offered = LinkBoost(score, _route(found[0], distance))
                if score > 0.0 and (each not in boosts or _rank(offered) > _rank(boosts[each])):
                    boosts[each] = offered
        leading = {each: scores.get(each, 0.0) + boost.score for each, boost in boosts.items()}
    return boosts


def _strength(linked: Linked, policy: RankingPolicy) -> float:
    """How far a link can be trusted, from 0 to 1: less if it leads back, if it is one of many, and if it leads to what
    everything is linked with. To the form `decay` one is as good as the other."""
    weight = min(1.0, max(0.0, linked.edge.weight))
    if policy.graph_form == "decay":
        return weight
    direction = linked.degree**-0.5 if linked.is_outgoing else BACK_SHARE / linked.degree
    return weight * direction * min(1.0, POPULAR / linked.far_degree)


def _lifted(own: float, strength: float, lead: float, best: float, policy: RankingPolicy) -> float:
    """The score by a link of this strength: no less than a share of the leader's, and in the form `boost` also what is
    lent on top of one's own, which decides among those that were found anyway. Leaders far below the best lend less."""
    least = policy.graph_decay * strength * lead
    if policy.graph_form == "decay":
        return least
    return max(least, own + policy.graph_weight * strength * lead * (lead / best))


def _by_edge(hop: Sequence[Linked]) -> Iterator[list[Linked]]:
    """What each edge of each memory leads to."""
    found: dict[tuple[object, ...], list[Linked]] = {}
    for linked in hop:
        found.setdefault((linked.asked, linked.is_outgoing, linked.edge.key), []).append(linked)
    yield from found.values()


def _receivers(found: Sequence[Linked], scores: Mapping[str, float], *, brings_in: bool) -> Iterator[tuple[str, float]]:
    """Those at the end of one edge, and how much of what it has to give each gets."""
    own = {linked.candidate.content_hash: scores.get(linked.candidate.content_hash) for linked in found}
    known = {each: score for each, score in own.items() if score is not None}
    best = max(known.values(), default=0.0)
    if known:
        yield from ((each, score / best if best > 0.0 else 1.0) for each, score in known.items())
    elif brings_in:
        first = min([linked.candidate for linked in found], key=in_document_order)
        yield first.content_hash, 1.0


def _route(linked: Linked, distance: int) -> Route:
    return Route(linked.asked, linked.edge.kind, "out" if linked.is_outgoing else "back", distance)


def _rank(boost: LinkBoost) -> tuple[float, int, Route]:
    """The greater one; of equals the nearer, and then any, but always the same."""
    return boost.score, -boost.route.distance, boost.route
