"""How many tokens a model pays for a text, as far as the vocabulary that comes along can tell.

The WordPiece vocabulary of the embedding model makes a token of every punctuation mark; the tokenizers of language
models take a run of them, such as `":{"`, as one. So a run counts once here.
"""

import re
from functools import cache
from importlib.resources import files

from tokenizers import BertWordPieceTokenizer

_MARKS = re.compile(r"[^\w\s]+")


@cache
def _wordpiece() -> BertWordPieceTokenizer:
    vocabulary = files("mcp_memory_service.embeddings") / "data" / "bert_uncased_vocab.txt"
    return BertWordPieceTokenizer(str(vocabulary), lowercase=True)


def tokens(text: str) -> int:
    pieces = _wordpiece().encode(_MARKS.sub(" . ", text), add_special_tokens=False)
    return len(pieces.ids)
