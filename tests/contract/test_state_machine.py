"""Any sequence of calls, compared with a model, on every backend; tests/reliability/state_machine.py goes further."""

import asyncio
from pathlib import Path

import pytest
from tests.contract.conftest import BACKENDS, Opener
from tests.reliability.store_machine import Bench, run

# A Qdrant collection takes longer to make than a file, and each call is a request.
EXAMPLES_AND_STEPS = {"memory": (25, 25), "sqlite_vec": (25, 25)}
OVER_A_NETWORK = (6, 15)


@pytest.mark.parametrize("open_store", BACKENDS, indirect=True)
def test_a_store_does_what_the_model_does(request: pytest.FixtureRequest, open_store: Opener, tmp_path: Path):
    backend = request.node.callspec.params["open_store"]
    examples, steps = EXAMPLES_AND_STEPS.get(backend, OVER_A_NETWORK)

    with asyncio.Runner() as runner:
        bench = Bench(open_store, tmp_path, runner)
        run(bench, examples, steps, derandomize=True, shrink=backend == "sqlite_vec")
