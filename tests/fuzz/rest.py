"""Requests made from our own OpenAPI, valid and not, with every check of schemathesis: no 5xx, nothing undeclared.

`python -m tests.fuzz.rest --cases 10000 --seed 1`.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.integration.conftest import Server

from .target import KEY, Figures, look_afterwards, server_under_fire

CONFIGURATION = Path(__file__).with_name("schemathesis.toml")
MIN_EXAMPLES = 3  # for each operation; the cases that follow from the schema alone come on top
ALL_PHASES = "examples,coverage,fuzzing,stateful"
RANDOM_PHASES = "fuzzing,stateful"


def run(folder: Path, cases: int, seed: int) -> Figures:
    """Round after round, each with the next seed, until so many cases have been sent."""
    figures = Figures(seed)
    with server_under_fire(folder) as server:
        operations = _operations(server)
        phases = ALL_PHASES  # the first two make the same cases for every seed
        while figures.sent < cases:
            examples = max(MIN_EXAMPLES, (cases - figures.sent) // operations)
            _round(server, folder, figures, phases, examples, seed)
            phases = RANDOM_PHASES
            seed += 1
        look_afterwards(server, figures)
    return figures


def _operations(server: Server) -> int:
    paths: dict[str, dict[str, Any]] = server.http.get("/openapi.json").json()["paths"]
    return sum(map(len, paths.values()))


def _round(server: Server, folder: Path, figures: Figures, phases: str, examples: int, seed: int) -> None:
    report_path = folder / f"report-{seed}.json"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "--no-color", "--config-file", str(CONFIGURATION), "run"),
            *(f"{server.url}/openapi.json", "--header", f"Authorization: Bearer {KEY}"),
            *("--checks", "all", "--phases", phases, "--max-examples", str(examples), "--seed", str(seed)),
            *("--generation-database", "none", "--report-json-path", str(report_path)),
        ],
        cwd=folder,  # it keeps notes where it runs
        capture_output=True,
        text=True,
        check=False,
    )
    report: dict[str, Any] = json.loads(report_path.read_text()) if report_path.exists() else {}
    figures.count(report.get("stop_reason", "not finished"))
    if not report.get("complete"):
        raise RuntimeError(f"schemathesis did not finish:\n{done.stdout}{done.stderr}")
    figures.sent += report["test_cases"]["generated"]
    if done.returncode:
        figures.fail(f"seed {seed}:\n{_failures(done.stdout)}{done.stderr[-2_000:]}")


def _failures(output: str) -> str:
    """What schemathesis says about each, with a request that shows it."""
    start = output.find("= FAILURES =")
    return output[max(start, 0) :]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mcp-memory-fuzz-") as folder:
        figures = run(Path(folder), options.cases, options.seed)
    figures.tell_and_exit()


if __name__ == "__main__":
    main()
