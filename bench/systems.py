"""What is measured, and how: each system is built and asked in processes of its own."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from feed import Feed

HERE = Path(__file__).parent
REQUIREMENTS = HERE / "peers" / "requirements.txt"
PEERS_VENV = HERE / ".peers-venv"
OURS = "ours"
# LanceDB 0.40 warns twice in every hybrid search of what a later version will change, which costs it time.
QUIET = {"LANCEDB_LOG": "error"}


@dataclass(frozen=True)
class Peer:
    title: str
    most_memories: int | None = None
    """Beyond that it is not tried."""
    raised: str | None = None
    """For a variant: the module of the peer whose settings are raised until it finds enough of the nearest."""


PEERS = {
    "lancedb": Peer("LanceDB"),
    "lancedb_raised": Peer("LanceDB, raised", raised="lancedb"),
    "qdrant_edge": Peer("Qdrant Edge"),
    "qdrant_edge_raised": Peer("Qdrant Edge, raised", raised="qdrant_edge"),
    "qdrant_local": Peer("qdrant-client, local mode", most_memories=20_000),  # fills by a few hundred in a second
    "chromadb": Peer("Chroma"),
    "sqlite_vec": Peer("sqlite-vec alone"),
    "fts5": Peer("FTS5 alone"),
    "tantivy": Peer("tantivy"),
    "bm25s": Peer("bm25s"),
}
TITLES = {OURS: "mcp-memory-service", **{name: peer.title for name, peer in PEERS.items()}}


def title(system: str, figures: Mapping[str, Any]) -> str:
    """With the settings that were found for a variant."""
    settings = ", ".join(f"{name} {value}" for name, value in figures.get("settings", {}).items())
    return f"{TITLES[system]} ({settings})" if settings else TITLES[system]


def systems_of(size: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The figures of ours and of the peers that were measured at a size, in the order above."""
    return [(name, size["systems"][name]) for name in TITLES if name in size["systems"]]


@dataclass(frozen=True)
class Effort:
    """How much is asked of each system."""

    queries: int
    seconds: float
    """Limit for each measurement."""
    peer_budget_seconds: float
    """Limit for building a peer, and for asking it."""


def peers_python() -> str:
    """An environment with the peers, made or brought up to date now: they need what the service does not."""
    python, installed = PEERS_VENV / "bin" / "python", PEERS_VENV / "installed.txt"
    if not installed.exists() or installed.read_text() != REQUIREMENTS.read_text():
        print("installing the peers …", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(PEERS_VENV)], check=True)
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "-r", str(REQUIREMENTS)]
        subprocess.run(pip, check=True)
        installed.write_text(REQUIREMENTS.read_text())
    return str(python)


def measure(system: str, feed: Feed, folder: Path, effort: Effort) -> dict[str, Any]:
    """The figures of a system, or why there are none: {"failed": …}. Its files are left in the folder."""
    most = None if system == OURS else PEERS[system].most_memories
    if most and feed.size > most:
        return {"failed": f"not tried above {most:,}"}
    limit = None if system == OURS else effort.peer_budget_seconds
    figures: dict[str, Any] = {}
    for phase, command in _commands(system).items():
        settings = ["--settings", json.dumps(figures.get("settings", {}))]
        found = _run(phase, [*command, *settings], feed, folder, effort, limit)
        if phase == "tune" and "failed" in found:
            return found  # up to here it is the peer that it is a variant of
        figures |= found
        if "failed" in figures:
            break
    return figures


def _commands(system: str) -> dict[str, list[str]]:
    """By the phases of a measurement, in their order."""
    if system == OURS:
        scripts = {"build": "engine.py", "ask": "engine.py", "calls": "calls.py"}
        return {phase: [sys.executable, str(HERE / script), phase, system] for phase, script in scripts.items()}
    peer, python = PEERS[system], peers_python()
    phases = ("build", "tune", "ask") if peer.raised else ("build", "ask")
    return {phase: [python, str(HERE / "peer_worker.py"), phase, peer.raised or system] for phase in phases}


def _run(
    phase: str, command: list[str], feed: Feed, folder: Path, effort: Effort, limit: float | None
) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as aside:
        out = Path(aside) / "figures.json"
        arguments = ["--feed", str(feed.folder), "--size", str(feed.size), "--folder", str(folder), "--out", str(out)]
        arguments += ["--queries", str(effort.queries), "--seconds", str(effort.seconds)]
        arguments += ["--started", str(time.monotonic())]
        try:
            done = subprocess.run(
                [*command, *arguments],
                env=os.environ | QUIET,  # all with the threads of BLAS as they come; `mcp-memory serve` asks for one
                timeout=limit,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"failed": f"{phase}: stopped after {limit:,.0f} s"}
        if done.returncode:
            print(done.stderr, file=sys.stderr)
            told = done.stderr.strip().splitlines()
            return {"failed": f"{phase}: {told[-1] if told else f'ended with {done.returncode}'}"}
        return json.loads(out.read_text())
