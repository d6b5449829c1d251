"""What the bench is fed with: every text once, and the same texts in every run."""

from itertools import islice

from bench.corpora import made_queries, recombined, sentences_of

SENTENCES = [f"sentence {number} has five words" for number in range(6)]


def test_recombined_texts_are_made_of_different_sentences_and_never_come_twice():
    made = list(recombined(SENTENCES, 100))
    assert len({text for text, _ in made} | set(SENTENCES)) == 106
    assert all(len(set(parts)) == len(parts) in {2, 3} for _, parts in made)
    assert all(text == " ".join(SENTENCES[part] for part in parts) for text, parts in made)


def test_a_larger_corpus_begins_like_a_smaller_one():
    assert list(islice(recombined(SENTENCES, 100), 10)) == list(recombined(SENTENCES, 10))


def test_made_queries_are_words_in_a_row_and_end_where_the_sentences_do():
    queries = made_queries(["one two three four five six seven eight"], 50)
    assert sorted(queries) == [
        "one two three four five six",
        "three four five six seven eight",
        "two three four five six seven",
    ]


def test_the_sentences_of_our_own_corpus_come_once_and_have_four_words():
    sentences = sentences_of(None)
    assert len(sentences) > 1000
    assert all(len(sentence.split()) >= 4 for sentence in sentences)
