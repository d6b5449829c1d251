"""What a request costs the process that answers it, read from /proc."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Cost:
    """Filled when the block ends."""

    cpu_seconds: float = 0.0
    peak_bytes: int = 0
    """By how much resident memory was higher than before, at its highest."""


def can_be_measured() -> bool:
    return Path("/proc/self/clear_refs").exists()


@contextmanager
def cost_of(pid: int) -> Generator[Cost, None, None]:
    """CPU time, not time on the clock: it does not grow with what else the machine has to do."""
    cost = Cost()
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # the highest resident memory is counted from here on
    resident, seconds = _kibibytes(pid, "VmRSS"), _cpu_seconds(pid)
    yield cost
    cost.cpu_seconds = _cpu_seconds(pid) - seconds
    cost.peak_bytes = (_kibibytes(pid, "VmHWM") - resident) * 1024


def _kibibytes(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def _cpu_seconds(pid: int) -> float:
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")
