"""What a model pays for an answer, on our own corpus (python bench/mcp_tokens.py has the figures of every tool)."""

from tests.support.mcp_answers import good_text, ids_of
from tests.support.tokens import tokens

from mcp_memory_service.mcp_server.answers import found_reply
from mcp_memory_service.services.search.results import HINTS

from .conftest import Evaluated

MAX_TOKENS_FOR_A_TOKEN_OF_TEXT = 1.6
RESPONSE_CHARS = 20_000


def test_ten_hits_cost_little_more_than_their_texts(evaluated: Evaluated):
    paid = texts = 0
    for found in evaluated.results["hybrid"].values():
        hits = found.results if found.confidence != "none" else found.results[:HINTS]
        answer = found_reply(found, RESPONSE_CHARS)
        assert ids_of(answer) == [hit.memory.short_id for hit in hits]
        paid += tokens(good_text(answer))
        texts += sum(tokens(hit.memory.content) for hit in hits)
    assert paid <= MAX_TOKENS_FOR_A_TOKEN_OF_TEXT * texts
