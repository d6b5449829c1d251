"""Measures what it takes to load the model: slimmed when it is loaded, slimmed beforehand, and as it comes.

    python bench/model_load.py --rounds 5

Each load has a process of its own; the three ways take turns. Time is CPU time of the load. Memory is resident: the
peak, and what is left after the first text (Linux only).
"""

import argparse
import hashlib
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mcp_memory_service.embeddings import minilm, onnx_model
from mcp_memory_service.embeddings.slim_model import with_small_word_embeddings

WAYS = ("slimmed at load", "slimmed beforehand", "as it comes")


def load(way: str, built: Path) -> None:
    onnx_model.runtime_without_telemetry()  # its import is not part of the load
    if way != WAYS[0]:
        minilm.with_small_word_embeddings = bytes
    if way == WAYS[1]:
        minilm.model_path = lambda: built
        minilm.MODEL_SHA256 = hashlib.sha256(built.read_bytes()).hexdigest()
    started = time.process_time()
    model = minilm.MiniLM().load(1)
    milliseconds = (time.process_time() - started) * 1000
    model.embedded(["a text"])
    status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    print(milliseconds, *(int(status[name].split()[0]) / 1000 for name in ("VmHWM", "VmRSS")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--load", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.load:
        return load(arguments.load[0], Path(arguments.load[1]))
    figures: dict[str, list[list[float]]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / "slim.onnx"
        model = minilm.model_path().read_bytes()
        built.write_bytes(with_small_word_embeddings(model))
        for _ in range(arguments.rounds):
            for way in WAYS:
                command = [sys.executable, __file__, "--load", way, str(built)]
                out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                figures[way].append([float(number) for number in out.split()])
    print("| model | load ms | peak MB | left MB |\n|---|---|---|---|")
    for way, rows in figures.items():
        print(f"| {way} |", " | ".join(f"{statistics.median(column):.0f}" for column in zip(*rows, strict=True)), "|")
    return None


if __name__ == "__main__":
    main()
