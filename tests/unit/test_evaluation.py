"""The parts of the evaluation that need no store: data, metrics, intervals, made-up queries."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.eval.own_corpus import NOW
from tests.eval.own_set import write_set

from mcp_memory_service.errors import InvalidInput
from mcp_memory_service.evaluation.confidence import Interval, PairedDifference, bootstrap_interval, paired_difference
from mcp_memory_service.evaluation.dataset import WHOLE_CORPUS, load_dataset
from mcp_memory_service.evaluation.ground_truth import load_ground_truth
from mcp_memory_service.evaluation.known_items import known_item
from mcp_memory_service.evaluation.metrics import measure, separation
from mcp_memory_service.evaluation.policies import changed_policy
from mcp_memory_service.evaluation.sweep import SweepRow, best_row, render_sweep, sweep_json
from mcp_memory_service.evaluation.tables import difference_table, markdown_table
from mcp_memory_service.hybrid_search import CLASSIC, RankingPolicy


def write_dataset(folder: Path, *, gzipped: bool = False, haystacks: bool = False) -> Path:
    folder.mkdir(exist_ok=True)
    files: dict[str, list[dict[str, object]]] = {
        "corpus": [
            {"id": "a", "text": "first", "tags": ["x"], "created_at": "2025-01-02T03:04:05", "meta": {"session": "s"}},
            {"id": "b", "text": "second", "meta": {"session": "s", "scope": "one"}},
            {"id": "c", "text": "third", "meta": {"scope": "two"}},
        ],
        "queries": [
            {"id": "q1", "text": "what is first"},
            {
                "id": "q2",
                "text": "in one",
                "meta": {"scope": "one", "type": "kind", "asked_after": "2025-02-01T00:00:00", "answer": 7},
            },
            {"id": "q3", "text": "without gold"},
        ],
    }
    if haystacks:
        files["haystacks"] = [{"qid": "q1", "ids": ["a", "c"]}]
    for name, rows in files.items():
        text = "\n".join(map(json.dumps, rows)) + "\n"
        if gzipped:
            (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (folder / f"{name}.jsonl").write_text(text)
    (folder / "qrels.tsv").write_text("q1\ta\t2\nq2\tb\t1\nq3\tb\t0\n")
    return folder


@pytest.mark.parametrize("gzipped", [True, False])
def test_a_folder_becomes_collections_and_queries(tmp_path: Path, gzipped: bool):
    dataset = load_dataset(write_dataset(tmp_path / "tiny", gzipped=gzipped))
    assert (dataset.name, dataset.documents) == ("tiny", 3)
    assert [(q.id, q.collection, q.category, q.relevant) for q in dataset.queries] == [
        ("q1", WHOLE_CORPUS, None, {"a": 2.0}),
        ("q2", "one", "kind", {"b": 1.0}),
    ]
    assert {name: [d.id for d in documents] for name, documents in dataset.collections.items()} == {
        WHOLE_CORPUS: ["a", "b", "c"],
        "one": ["b"],
    }
    assert [query.asked_at for query in dataset.queries] == [None, 1_738_368_000_000_000]
    first, second = dataset.collections[WHOLE_CORPUS][:2]
    assert (first.session, first.sequence, second.sequence) == ("s", 1, 2)
    assert first.created_at == 1_735_787_045_000_000


def test_a_haystack_is_a_collection_of_its_own(tmp_path: Path):
    dataset = load_dataset(write_dataset(tmp_path / "tiny", haystacks=True))
    assert [d.id for d in dataset.collections["q1"]] == ["a", "c"]


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ({"corpus.jsonl": '{"id": "a"}\n'}, "corpus.jsonl, line 1: the field 'text' is missing"),
        ({"queries.jsonl": "{}\nno json"}, "queries.jsonl, line 1"),
        ({"queries.jsonl": '{"id": "q1", "text": "x", "meta": {"asked_at": "May"}}\n'}, "line 1: Invalid isoformat"),
        ({"qrels.tsv": "q1 a 1\n"}, "qrels.tsv, line 1"),
        ({"qrels.tsv": "query-id\tcorpus-id\tscore\n\nq9\ta\t1\n"}, "no query with a relevant one"),
        ({"corpus.jsonl": ""}, "has no document"),
        ({"corpus.jsonl": "[]\n"}, "an object with other fields"),
        ({"qrels.tsv": None}, "has no qrels.tsv"),
        ({"links.tsv": "a\tb\n\na b\n"}, "links.tsv, line 3: two document ids"),
        ({"corpus.jsonl": None}, "has no corpus.jsonl or corpus.jsonl.gz"),
    ],
)
def test_a_damaged_folder_is_named_with_file_and_line(tmp_path: Path, damage: dict[str, str | None], says: str):
    folder = write_dataset(tmp_path / "tiny")
    for name, text in damage.items():
        if text is None:
            (folder / name).unlink()
        else:
            (folder / name).write_text(text)
    with pytest.raises(InvalidInput, match=says):
        load_dataset(folder)


def test_bytes_that_are_no_text_or_no_gzip_are_said(tmp_path: Path):
    folder = write_dataset(tmp_path / "tiny")
    (folder / "corpus.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match=r"corpus\.jsonl, line 1"):
        load_dataset(folder)
    (folder / "corpus.jsonl").rename(folder / "corpus.jsonl.gz")
    with pytest.raises(InvalidInput, match=r"corpus\.jsonl\.gz, line 1: Not a gzipped file"):
        load_dataset(folder)


def test_a_haystack_names_documents(tmp_path: Path):
    folder = write_dataset(tmp_path / "tiny", haystacks=True)
    (folder / "haystacks.jsonl").write_text('{"qid": "q1", "ids": ["nope"]}\n')
    with pytest.raises(InvalidInput, match="names nope, which is no document"):
        load_dataset(folder)


def test_links_are_those_between_documents(tmp_path: Path):
    folder = write_dataset(tmp_path / "tiny")
    assert load_dataset(folder).links == []
    (folder / "links.tsv").write_text("a\tb\tthe second\nb\tc\n\nc\tnowhere\tx\n")
    assert load_dataset(folder).links == [("a", "b"), ("b", "c")]


def test_fewer_queries_need_fewer_documents(tmp_path: Path):
    dataset = load_dataset(write_dataset(tmp_path / "tiny", haystacks=True))
    fewer = dataset.with_queries(1)
    assert ([query.id for query in fewer.queries], list(fewer.collections)) == (["q1"], ["q1"])
    assert dataset.with_queries(5) is dataset
    assert dataset.unknown_relevant == 0


def test_what_is_no_folder_is_said(tmp_path: Path):
    with pytest.raises(InvalidInput, match="is not a folder"):
        load_dataset(tmp_path / "nothing")


def test_ground_truth_that_cannot_be_read_is_said(tmp_path: Path):
    with pytest.raises(InvalidInput, match="cannot be read"):
        load_ground_truth(tmp_path / "missing.json")
    (tmp_path / "bad.json").write_text('{"test_cases": [{"query": "x"}]}')
    with pytest.raises(InvalidInput, match="expected_hashes"):
        load_ground_truth(tmp_path / "bad.json")


@given(st.lists(st.sampled_from("abcdefgh"), unique=True), st.sets(st.sampled_from("abcdefgh"), min_size=1))
def test_measures_are_shares_and_order_as_they_must(ranked: list[str], relevant: set[str]):
    found = measure(ranked, dict.fromkeys(relevant, 1.0))
    assert all(0.0 <= value <= 1.0 for value in found)
    assert found.recall_all_at_10 <= found.recall_fraction_at_10 <= found.recall_any_at_10
    assert found.hit_at_1 <= found.mrr_at_10 <= found.recall_any_at_10
    best_first = sorted(ranked, key=lambda name: name not in relevant)
    assert measure(best_first, dict.fromkeys(relevant, 1.0)).ndcg_at_10 >= found.ndcg_at_10 - 1e-12


def test_nothing_relevant_is_no_measure():
    with pytest.raises(ValueError, match="nothing to measure"):
        measure(["a"], {})


def test_intervals_hold_the_mean_and_can_be_repeated():
    values = [0.0, 1.0] * 50
    interval = bootstrap_interval(values)
    assert interval.low < 0.5 < interval.high
    assert interval == bootstrap_interval(values)
    assert bootstrap_interval([0.3] * 10) == pytest.approx((0.3, 0.3))


def test_a_difference_is_judged_in_pairs():
    before = [number / 100 for number in range(100)]
    after = [value + 0.01 for value in before]
    assert paired_difference(after, before).verdict == "better"
    assert paired_difference(before, after).verdict == "worse"
    assert paired_difference([1.0, 0.0], [0.0, 1.0]).verdict == "noise"


SHARES = st.floats(0.0, 1.0)


@given(st.lists(SHARES, min_size=1, max_size=30))
def test_a_row_does_not_differ_from_itself(values: list[float]):
    assert paired_difference(values, values) == PairedDifference(0.0, Interval(0.0, 0.0))
    assert paired_difference(values, values).is_noise


@given(st.lists(st.tuples(SHARES, SHARES), min_size=1, max_size=30))
def test_a_difference_lies_in_its_interval_and_changes_sign_when_swapped(pairs: list[tuple[float, float]]):
    values, reference = [one for one, _ in pairs], [other for _, other in pairs]
    forth, back = paired_difference(values, reference), paired_difference(reference, values)
    low, high = forth.interval_95
    assert low - 1e-9 <= forth.mean <= high + 1e-9
    assert back.mean == pytest.approx(-forth.mean, abs=1e-9)
    assert back.interval_95 == pytest.approx((-high, -low), abs=1e-9)


def test_separation_is_the_area_under_the_curve():
    assert separation([3.0, 2.0], [1.0]) == 1.0
    assert separation([1.0], [1.0]) == 0.5
    assert separation([0.0, 2.0], [1.0]) == 0.5


def test_a_known_item_is_a_sentence_and_the_text_without_it():
    text = "Rathole forwards port 2333 to the home lab. The server runs on a small machine abroad. Ok."
    item = known_item(text)
    assert item is not None
    assert item.query in text
    assert item.query not in item.rest
    assert set((item.query + " " + item.rest).split()) == set(text.split())
    assert item == known_item(text)


@pytest.mark.parametrize("text", ["", "short", "One sentence with plenty of words but no second one", "Ok. Yes. No."])
def test_what_cannot_be_parted_makes_no_query(text: str):
    assert known_item(text) is None


def test_the_best_row_is_marked():
    poor, good = measure(["x"], {"a": 1.0}), measure(["a"], {"a": 1.0})
    rows = [SweepRow(None, poor), SweepRow(0.3, good), SweepRow(0.5, good)]
    assert best_row(rows).value == 0.3
    table = render_sweep(rows, "alpha").splitlines()
    assert table[0] == "Alpha    | Hit@10 | MRR    | NDCG@10"
    assert table[2] == "0.3      | 1.0000 | 1.0000 | 1.0000  ← Optimal"
    assert "Optimal" not in table[1] + table[3]


def test_a_swept_value_is_compared_with_the_default():
    poor, good = measure(["x"], {"a": 1.0}), measure(["a"], {"a": 1.0})
    rows = [SweepRow(None, poor), SweepRow(0.3, good, PairedDifference(1.0, Interval(0.5, 1.5)))]
    *_, header, _, line = render_sweep(rows, "alpha").splitlines()
    assert header == "| difference in NDCG@10 | to      | mean    | 95 %, paired       |        |"
    assert line == "| alpha 0.3             | default | +1.0000 | +0.5000 to +1.5000 | better |"
    field = "ndcg_at_10_paired_difference_to_default"
    assert [row[field] for row in sweep_json(rows, "alpha")["rows"]] == [
        None,
        {"mean": 1.0, "interval_95": [0.5, 1.5], "is_noise": False},
    ]


def test_tables_are_markdown():
    assert markdown_table(["a", "b"], [["1", "long"]]) == "| a | b    |\n| - | ---- |\n| 1 | long |"
    noise = PairedDifference(-0.01, Interval(-0.02, 0.0))
    assert difference_table({("hybrid", "keyword"): noise}).splitlines()[-1].split("|")[1:-1] == [
        " hybrid                ", " keyword ", " -0.0100 ", " -0.0200 to +0.0000 ", " noise ",
    ]  # fmt: skip


def test_the_classic_ranking_can_be_compared_as_a_whole():
    assert changed_policy(RankingPolicy(), "ranking=classic") == CLASSIC


def test_our_own_corpus_is_an_evaluation_set_too(tmp_path: Path):
    write_set(tmp_path)
    dataset = load_dataset(tmp_path)
    assert (dataset.documents, len(dataset.queries), dataset.unknown_relevant) == (593, 183, 0)
    assert {query.asked_at for query in dataset.queries} == {NOW}
