"""What is found in a folder of code, and calls of it to judge by reading:
python -m tests.eval.code.sample FOLDER [PREFIX] [--class certain --count 50]"""

import argparse
import hashlib
import os
import resource
import time
from collections import Counter
from pathlib import Path

from mcp_memory_service.indexing.code import (
    CodeEdge,
    Project,
    ProjectConfig,
    is_project_file,
    language_of,
    read_code,
)

SEED = 22
LONGEST_LINE = 2_000
"""Files with a longer one are made by a program."""


def texts(root: Path, prefix: str) -> tuple[dict[str, str], dict[str, str]]:
    """The texts of the files that are read, and of those that say where modules are, by their paths."""
    code: dict[str, str] = {}
    settings: dict[str, str] = {}
    for folder, inner, names in os.walk(root):
        inner[:] = sorted(name for name in inner if name not in {"node_modules", ".git"})
        for name in sorted(names):
            path = Path(folder, name).relative_to(root).as_posix()
            if is_project_file(path):
                settings[path] = Path(folder, name).read_text(errors="replace")
            elif language_of(name) and path.startswith(prefix):
                text = Path(folder, name).read_text(errors="replace")
                if max(map(len, text.split("\n"))) <= LONGEST_LINE:
                    code[path] = text
    return code, settings


def _order(edge: CodeEdge, line: int) -> bytes:
    """The same few calls are drawn from a folder whatever else is found in it."""
    return hashlib.sha256(f"{SEED} {edge.from_path} {line} {edge.from_symbol} {edge.to_symbol}".encode()).digest()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("prefix", nargs="?", default="")
    parser.add_argument("--class", dest="certainty", default="certain")
    parser.add_argument("--count", type=int, default=0)
    asked = parser.parse_args()
    code, settings = texts(asked.folder, asked.prefix)
    config = ProjectConfig.of(code, settings)
    project = Project(config)
    started = time.process_time()
    files = [read_code(path, text, config) for path, text in code.items()]
    read = time.process_time()
    for file in files:
        project.put(file)
    resolved = project.resolve().files.values()
    done = time.process_time()
    edges = [edge for file in resolved for edge in file.edges]
    kinds = Counter(f"{edge.kind} {edge.certainty}" if edge.kind == "calls" else edge.kind for edge in edges)
    print(f"{len(code)} files, {sum(text.count(chr(10)) for text in code.values()):,} lines")
    print(f"{sum(len(file.symbols) for file in files):,} symbols, {len(edges):,} edges: {dict(kinds)}")
    print(f"{sum(len(call.lines) for file in resolved for call in file.open_calls):,} open calls")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"read in {read - started:.1f} s, resolved in {done - read:.1f} s of CPU, {peak} MiB")
    calls = [
        (edge, line)
        for edge in edges
        if edge.kind == "calls" and edge.certainty == asked.certainty
        for line in edge.lines
    ]
    for edge, line in sorted(calls, key=lambda call: _order(*call))[: asked.count]:
        text = code[edge.from_path].split("\n")[line - 1].strip()[:150]
        print(f"{edge.from_path}:{line} {edge.from_symbol} -> {edge.to_symbol} ({edge.to_path}) | {text}")


if __name__ == "__main__":
    main()
