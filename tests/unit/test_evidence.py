"""How far the signals can be trusted, and what neighbours lend."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.hybrid_search import (
    Evidence,
    WordEvidence,
    alpha_from_evidence,
    fuse_scores,
    limit_alpha_for_named_tags,
    missing_neighbours,
    neighbour_boosts,
    vector_prominence,
    word_evidence,
)
from mcp_memory_service.hybrid_search.evidence import (
    COVERAGE,
    LEAD,
    PRIOR_SHARE,
    PROMINENCE,
    SAYING,
    START,
    WEAKNESS,
    expected_greatest,
)
from mcp_memory_service.models import Candidate

positive = st.floats(0, 100)
share = st.floats(0, 1)


def turn(number: int, score: float = 0.0, session: str = "talk") -> Candidate:
    return Candidate(f"{session}-{number}", 0, score, session, number)


def log_odds(alpha: float) -> float:
    return math.log(alpha / (1.0 - alpha))


def test_evidence_moves_the_prior_by_its_published_numbers():
    by_chance = Evidence(1.0, 1.0, 1.0, 1.0, 0.0)
    assert log_odds(alpha_from_evidence(by_chance, 0.5)) == pytest.approx(START - COVERAGE)
    assert log_odds(alpha_from_evidence(by_chance, 0.8)) == pytest.approx(
        PRIOR_SHARE * math.log(4.0) + START - COVERAGE
    )
    assert log_odds(alpha_from_evidence(Evidence(2.0, 4.0, 0.25, 0.5, 0.25), 0.5)) == pytest.approx(
        START + PROMINENCE * math.log(2.0) / 2.0 - COVERAGE * 0.5 - LEAD * 0.25
    )


def test_words_that_say_next_to_nothing_leave_it_to_meaning():
    found = Evidence(1.0, 1.0, SAYING / 2.0, 1.0, 0.0)
    assert log_odds(alpha_from_evidence(found, 0.5)) == pytest.approx(
        START - COVERAGE * SAYING / 2.0 + WEAKNESS * math.log(2.0)
    )


@given(positive, positive, share, share, st.sampled_from([0.5, 0.7, 0.8]))
def test_alpha_never_silences_a_signal(prominence: float, rarity: float, coverage: float, lead: float, prior: float):
    assert 0.05 <= alpha_from_evidence(Evidence(prominence, rarity, coverage, 1.0, lead), prior) <= 0.95


@given(positive, positive, share, share, st.floats(0, 10))
def test_alpha_rises_with_prominence_and_falls_with_what_the_words_say(
    a: float, b: float, c: float, d: float, more: float
):
    alpha = alpha_from_evidence(Evidence(a, b, c, 1.0, d), 0.5)
    assert alpha_from_evidence(Evidence(a, b, c, 1.0, d), 0.7) >= alpha
    assert alpha_from_evidence(Evidence(a + more, b, c, 1.0, d), 0.5) >= alpha
    assert alpha_from_evidence(Evidence(a, b + more, c, 1.0, d), 0.5) <= alpha
    assert alpha_from_evidence(Evidence(a, b, c + more, 1.0, d), 0.5) <= alpha
    assert alpha_from_evidence(Evidence(a, b, c, 1.0, d + more), 0.5) <= alpha


def test_trust_multiplies_the_odds():
    evidence = Evidence(1.0, 1.0, 0.5, 1.0, 0.5)
    trusted = alpha_from_evidence(evidence, 0.5, vector_trust=3.0)
    assert log_odds(trusted) == pytest.approx(log_odds(alpha_from_evidence(evidence, 0.5)) + math.log(3.0))


def test_a_rare_tag_limits_alpha_and_a_common_one_hardly():
    assert limit_alpha_for_named_tags(0.9, 1.0) == pytest.approx(0.6)
    assert limit_alpha_for_named_tags(0.9, 2.5) == pytest.approx(0.6)
    assert limit_alpha_for_named_tags(0.9, 0.1) == 0.9
    assert limit_alpha_for_named_tags(0.3, 1.0) == 0.3
    assert limit_alpha_for_named_tags(0.95, 0.0) == 0.95


@pytest.mark.parametrize(("draws", "greatest"), [(0, 0.0), (1, 0.0), (600, 3.1), (6_000, 3.8)])
def test_the_greatest_of_random_draws(draws: int, greatest: float):
    assert expected_greatest(draws) == pytest.approx(greatest, abs=0.1)


def test_prominence_is_1_for_what_chance_would_give():
    assert vector_prominence(0.1 + 0.05 * expected_greatest(600), 0.1, 0.05, 600) == pytest.approx(1.0)
    assert vector_prominence(0.9, 0.1, 0.05, 600) > 4
    assert vector_prominence(0.5, 0.5, 0.0, 1) == 1.0


def test_words_count_by_their_rarity():
    rarities = {"rathole": 6.0, "project": 2.0}
    query = ["rathole", "project"]
    assert word_evidence(query, {"rathole", "port"}, query, rarities, 100, [4.0]) == WordEvidence(
        6.0 / math.log(100), 0.75, 1.0, 1.0
    )
    assert word_evidence(["rathole"], set(), (), rarities, 100, []) == WordEvidence(0.0, 0.0, 0.0, 0.0)
    assert word_evidence([], {"x"}, (), {}, 1, []) == WordEvidence(0.0, 0.0, 0.0, 0.0)


def test_a_word_that_no_memory_has_leaves_alpha_as_it_is():
    idf = {"rathole": 6.0, "zyx": 7.0}

    def alpha(*query: str) -> float:
        words = word_evidence(query, {"rathole"}, {"rathole"}, idf, 100, [1.0])
        return alpha_from_evidence(Evidence(1.0, words.rarity, words.coverage, words.known, words.lead), 0.5)

    assert alpha("rathole", "zyx") == alpha("rathole")


def test_a_word_that_names_a_tag_is_not_found_by_chance():
    found = Evidence(1.0, 0.1, 1.0, 1.0, 1.0)
    assert log_odds(alpha_from_evidence(found, 0.5, names_tag=True)) == pytest.approx(START - COVERAGE - LEAD)
    assert alpha_from_evidence(found, 0.5) > alpha_from_evidence(found, 0.5, names_tag=True)


def test_where_all_memories_have_all_words_each_counts_alike():
    words = word_evidence(["a", "b"], {"a"}, {"a", "b"}, {"a": 0.0, "b": 0.0}, 2, [1.0])
    assert words == WordEvidence(0.0, 0.5, 1.0, 1.0)


def test_the_best_keyword_hit_leads_the_tenth():
    scores = [8.0, *[7.0] * 8, 2.0, 1.0]
    equals = word_evidence(["a"], {"a"}, {"a"}, {"a": 1.0}, 100, [8.0] * 20 + scores[1:])
    assert equals.lead == 0.75
    assert word_evidence(["a"], {"a"}, {"a"}, {"a": 1.0}, 100, scores).lead == 0.75
    assert word_evidence(["a"], {"a"}, {"a"}, {"a": 1.0}, 100, scores[:9]).lead == 1.0


def test_neighbours_lend_a_part_of_what_they_are_ahead():
    turns = [turn(number) for number in (1, 2, 3, 5)]
    boosts = neighbour_boosts(turns, {"talk-1": 0.8, "talk-5": 0.4}, share=0.5)
    assert boosts == {"talk-2": 0.4, "talk-3": 0.2}
    boosts = neighbour_boosts(turns, {"talk-1": 0.8, "talk-2": 0.6, "talk-3": 0.8}, share=0.5)
    assert boosts == {"talk-2": pytest.approx(0.1), "talk-5": pytest.approx(0.2)}


def test_the_best_neighbour_counts_and_not_their_sum():
    turns = [turn(number) for number in (1, 2, 3)]
    assert neighbour_boosts(turns, {"talk-1": 0.6, "talk-3": 0.8}, share=0.5)["talk-2"] == 0.4


def test_several_memories_of_one_turn_all_lend_and_all_get():
    same = Candidate("talk-1-again", 0, 0.0, "talk", 1)
    beside = Candidate("talk-2-again", 0, 0.0, "talk", 2)
    boosts = neighbour_boosts([turn(1), same, turn(2), beside], {"talk-1": 0.8, "talk-1-again": 0.1}, share=0.5)
    assert boosts == {"talk-2": 0.4, "talk-2-again": 0.4}


def test_other_sessions_and_memories_without_a_place_lend_nothing():
    found = [turn(1), turn(2, session="other"), Candidate("plain", 0, 1.0), Candidate("no-place", 0, 1.0, "talk", None)]
    assert neighbour_boosts(found, {candidate.content_hash: 1.0 for candidate in found}, share=0.5) == {}


def test_a_boost_is_part_of_the_sum_and_shows_in_the_votes():
    fused = fuse_scores({"vector": [turn(1, 0.9), turn(2, 0.5)]}, {"vector": 1.0}, neighbour_weight=0.5)
    second = next(candidate for candidate in fused if candidate.content_hash == "talk-2")
    alone = second.contributions["vector"].contribution
    assert second.contributions["neighbour"].contribution == pytest.approx(0.5 * (1.0 - alone))
    assert second.score == pytest.approx(alone + 0.5 * (1.0 - alone))


def test_a_memory_that_only_a_neighbour_knows_is_ranked_by_its_boost():
    fused = fuse_scores({"vector": [turn(1, 0.9)], "neighbour": [turn(2)]}, {"vector": 1.0}, neighbour_weight=0.5)
    assert [(candidate.content_hash, candidate.score) for candidate in fused] == [("talk-1", 1.0), ("talk-2", 0.5)]


def test_missing_neighbours_are_those_of_the_leading_that_nobody_found():
    known = [turn(1), turn(2), turn(3), turn(8)]
    assert missing_neighbours([turn(2)], known) == []
    assert missing_neighbours([turn(3), turn(8), Candidate("plain", 0, 1.0)], known) == ["talk-3", "talk-8"]
