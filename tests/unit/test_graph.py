"""What links add to scores: cases of the formula, then what must hold for any links."""

import random
from dataclasses import replace
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.hybrid_search import (
    GRAPH,
    FusedCandidate,
    GraphForm,
    LinkBoost,
    Links,
    Pool,
    RankingPolicy,
    Route,
    fuse_rrf,
    fuse_scores,
    link_boosts,
)
from mcp_memory_service.models import Candidate, Edge, EdgeKind, Linked

BOOST = RankingPolicy(graph_weight=0.4)
DECAY = replace(BOOST, graph_form="decay", graph_decay=0.8)
NAMES = "abcdefgh"
Ends: TypeAlias = tuple[str, str, bool, int, int, float]
"""Asked, other end, whether it is outgoing, the degrees, the weight."""


def candidate(name: str, score: float = 0.0, sequence: int | None = None) -> Candidate:
    return Candidate(name, 0, score, sequence=sequence)


def out(
    asked: str,
    *to: str,
    by_name: str | None = None,
    weight: float = 1.0,
    degree: int = 1,
    far_degree: int = 1,
    kind: EdgeKind = "link",
) -> list[Linked]:
    edge = Edge(asked, by_name or to[0], kind, weight, by_name=by_name is not None)
    return [
        Linked(candidate(each, sequence=place), asked, edge, degree, far_degree)
        for place, each in enumerate(to, start=1)
    ]


def back(asked: str, origin: str, degree: int = 1, far_degree: int = 1) -> list[Linked]:
    return [Linked(candidate(origin), asked, Edge(origin, asked, "link", by_name=False), degree, far_degree)]


def boosts(
    *hops: list[Linked], policy: RankingPolicy = BOOST, brings_in: bool = True, **scores: float
) -> dict[str, LinkBoost]:
    return link_boosts(Links((), hops, policy, brings_in), scores, 1.0)


def added(*hops: list[Linked], policy: RankingPolicy = BOOST, **scores: float) -> dict[str, float]:
    return {each: boost.score for each, boost in link_boosts(Links((), hops, policy), scores, 1.0).items()}


# --- the form `boost`: what is lent on top


def test_the_best_lends_what_it_points_at_a_part_of_its_score():
    assert added(out("a", "b"), a=1.0, b=0.5) == {"b": pytest.approx(0.4)}


def test_a_lesser_leader_lends_less_than_its_share():
    assert added(out("a", "b"), a=0.5, b=0.5) == {"b": pytest.approx(0.4 * 0.5 * 0.5)}


def test_a_link_back_counts_half():
    assert added(back("a", "b"), a=1.0, b=0.5) == {"b": pytest.approx(0.2)}


def test_many_links_are_worth_less_each():
    assert added(out("a", "b", degree=4), a=1.0, b=0.5) == {"b": pytest.approx(0.4 / 2)}
    assert added(back("a", "b", degree=4), a=1.0, b=0.5) == {"b": pytest.approx(0.2 / 4)}


def test_a_link_to_what_everything_points_at_says_little():
    assert added(out("a", "b", far_degree=10), a=1.0, b=0.5) == {"b": pytest.approx(0.4)}
    assert added(out("a", "b", far_degree=40), a=1.0, b=0.5) == {"b": pytest.approx(0.4 / 4)}
    assert added(back("a", "b", far_degree=40), a=1.0, b=0.5) == {"b": pytest.approx(0.2 / 4)}


@pytest.mark.parametrize(("weight", "counted"), [(0.5, 0.5), (0.0, 0.0), (-1.0, 0.0), (7.0, 1.0)])
def test_a_weak_edge_lends_less_and_none_more_than_a_whole_one(weight: float, counted: float):
    found = added(out("a", "b", weight=weight), a=1.0, b=0.5)
    assert found == ({"b": pytest.approx(0.4 * counted)} if counted else {})


def test_the_best_link_counts_and_says_which_it_was():
    links = [*out("a", "c"), *out("b", "c", kind="mentions"), *back("a", "c")]
    assert added(links, a=0.8, b=1.0, c=0.5) == {"c": pytest.approx(0.4)}
    assert boosts(links, a=0.8, b=1.0, c=0.5)["c"].route == Route("b", "mentions", "out", 1)


# --- the form `boost`: no less than a share


def test_what_no_signal_found_comes_shortly_after_what_points_at_it():
    assert added(out("a", "b"), a=1.0) == {"b": pytest.approx(0.8)}
    assert added(out("a", "b"), a=0.5, b=0.1) == {"b": pytest.approx(0.8 * 0.5 - 0.1)}


def test_by_a_weaker_link_it_comes_further_down():
    assert added(back("a", "b"), a=1.0) == {"b": pytest.approx(0.4)}
    assert added(out("a", "b", degree=4), a=1.0) == {"b": pytest.approx(0.4)}
    assert added(out("a", "b", far_degree=20, weight=0.5), a=1.0) == {"b": pytest.approx(0.2)}


# --- documents of several memories


def test_a_link_to_a_document_leads_to_what_was_found_of_it_in_proportion():
    links = out("a", "b", "c", "d", by_name="note:x")
    assert added(links, a=1.0, c=0.4, d=0.8) == {"c": pytest.approx(0.2), "d": pytest.approx(0.4)}


def test_of_a_document_that_was_not_found_the_first_is_brought_in():
    links = out("a", "b", "c", "d", by_name="note:x")
    assert added(list(reversed(links)), a=1.0) == {"b": pytest.approx(0.8)}
    assert boosts(links, brings_in=False, a=1.0) == {}


# --- the form `decay`


def test_a_neighbour_is_lifted_to_a_share_of_its_leader():
    assert added(out("a", "b"), policy=DECAY, a=1.0, b=0.3) == {"b": pytest.approx(0.5)}
    assert added(back("a", "b", degree=9), policy=DECAY, a=0.5) == {"b": pytest.approx(0.4)}
    assert added(out("a", "b"), policy=DECAY, a=1.0, b=0.9) == {}


def test_two_links_away_it_is_that_share_of_the_share():
    hops = out("a", "b"), out("b", "c")
    assert added(*hops, policy=DECAY, a=1.0, b=0.1) == {"b": pytest.approx(0.7), "c": pytest.approx(0.64)}
    found = boosts(*hops, policy=DECAY, a=1.0, b=0.1)
    assert (found["b"].route, found["c"].route) == (Route("a", "link", "out", 1), Route("b", "link", "out", 2))


def test_a_route_is_read_as_words():
    origin = "0123456789abcdef"
    assert Route(origin, "link", "out", 1).words == "link from 0123456789ab"
    assert Route(origin, "calls", "back", 2).words == "calls to 0123456789ab, 2 links away"


# --- for any links

EDGES = st.tuples(
    st.sampled_from(NAMES),
    st.sampled_from(NAMES),
    st.booleans(),
    st.integers(1, 100),
    st.integers(1, 100),
    st.floats(-1, 3),
).filter(lambda edge: edge[0] != edge[1])
SCORES = st.dictionaries(st.sampled_from(NAMES), st.floats(0, 1), min_size=1)
FORMS = st.sampled_from(["boost", "decay"])


def linked(edges: list[Ends]) -> list[Linked]:
    """Each edge once, as a store has it."""
    found: dict[tuple[str, str, bool], Linked] = {}
    for asked, other, outgoing, degree, far_degree, weight in edges:
        ends = (asked, other) if outgoing else (other, asked)
        edge = Edge(*ends, "link", weight, by_name=False)
        found[asked, other, outgoing] = Linked(candidate(other), asked, edge, degree, far_degree)
    return list(found.values())


def signals(scores: dict[str, float]) -> dict[str, list[Candidate]]:
    """A keyword list whose shares of the best are these scores."""
    ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    return {"keyword": [candidate(name, score) for name, score in ranked]}


def fused(scores: dict[str, float], links: Links | None) -> dict[str, FusedCandidate]:
    pool = Pool.of(signals(scores))
    if links is not None:
        pool = pool.joined_by(GRAPH, links.candidates)
    found = fuse_scores(pool, {"keyword": 1.0}, links=links)
    return {each.content_hash: each for each in found}


def links_of(edges: list[Ends], scores: dict[str, float], policy: RankingPolicy) -> Links:
    return Links([candidate(name) for name in scores], (linked(edges),), policy)


@given(st.lists(EDGES), SCORES, FORMS, st.floats(0, 1))
def test_nobody_loses_by_links_and_no_boost_exceeds_its_bound(
    edges: list[Ends], scores: dict[str, float], form: GraphForm, weight: float
):
    policy = replace(BOOST, graph_form=form, graph_weight=weight)
    best = max(scores.values())
    for each, boost in link_boosts(links_of(edges, scores, policy), scores, best).items():
        assert boost.score > 0.0
        lifted = policy.graph_decay * best - scores.get(each, 0.0)
        bound = max(lifted, weight * best if form == "boost" else 0.0)
        assert boost.score <= bound + 1e-12


@given(st.lists(EDGES), SCORES, FORMS, st.randoms())
def test_the_order_of_the_links_does_not_matter(
    edges: list[Ends], scores: dict[str, float], form: GraphForm, chance: random.Random
):
    links = links_of(edges, scores, replace(BOOST, graph_form=form))
    shuffled = list(links.hops[0])
    chance.shuffle(shuffled)
    best = max(scores.values())
    assert link_boosts(replace(links, hops=(shuffled,)), scores, best) == link_boosts(links, scores, best)


@given(st.lists(EDGES), SCORES, st.floats(0, 1), st.floats(0, 1))
def test_more_weight_never_lowers_a_boost(edges: list[Ends], scores: dict[str, float], one: float, other: float):
    less, more = (
        link_boosts(links_of(edges, scores, replace(BOOST, graph_weight=weight)), scores, max(scores.values()))
        for weight in sorted((one, other))
    )
    assert all(boost.score <= more[each].score for each, boost in less.items())


@given(st.lists(EDGES), SCORES)
def test_without_weight_and_without_links_scores_are_what_they_were(edges: list[Ends], scores: dict[str, float]):
    plain = fused(scores, None)
    assert fused(scores, links_of(edges, scores, replace(BOOST, graph_weight=0.0))) == plain
    assert fused(scores, links_of([], scores, BOOST)) == plain


@given(st.lists(EDGES), SCORES, FORMS)
def test_the_votes_add_up_and_who_is_not_linked_keeps_its_score(
    edges: list[Ends], scores: dict[str, float], form: GraphForm
):
    plain, found = fused(scores, None), fused(scores, links_of(edges, scores, replace(BOOST, graph_form=form)))
    assert plain.keys() <= found.keys() <= plain.keys() | {other for _, other, *_ in edges}
    for each, ranked in found.items():
        assert ranked.score == pytest.approx(sum(vote.contribution for vote in ranked.contributions.values()))
        if GRAPH in ranked.contributions:
            assert ranked.contributions[GRAPH].route is not None
        else:
            assert ranked.score == plain[each].score


def test_links_add_to_ranks_as_to_scores():
    found = fuse_rrf(
        Pool.of(signals({"a": 1.0, "b": 0.5})).joined_by(GRAPH, [candidate("a"), candidate("c")]),
        {"keyword": 1.0},
        60,
        Links([candidate("a")], (out("a", "c"),), DECAY),
    )
    assert [each.content_hash for each in found] == ["a", "b", "c"]
    assert found[2].score == pytest.approx(0.8 / 61)
