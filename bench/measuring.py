"""Times, memory and disk of what is measured; needs nothing but Python, for peers are measured in an environment of
their own."""

import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Latency:
    p50_ms: float
    p95_ms: float
    p99_ms: float
    requests_per_second: float
    requests: int
    cpu_ms: float | None = None
    """Processor time of the whole process for one request, its threads included; None where others do the work."""


def latency(seconds: Sequence[float], wall_seconds: float, cpu_seconds: float | None = None) -> Latency:
    several = [*seconds, *seconds] if len(seconds) == 1 else seconds  # quantiles need two
    hundredths = statistics.quantiles(several, n=100, method="inclusive")
    return Latency(
        p50_ms=hundredths[49] * 1000,
        p95_ms=hundredths[94] * 1000,
        p99_ms=hundredths[98] * 1000,
        requests_per_second=len(seconds) / wall_seconds,
        requests=len(seconds),
        cpu_ms=None if cpu_seconds is None else cpu_seconds / len(seconds) * 1000,
    )


class Stopwatch(Generic[T]):
    """Hands out what is to be asked until all of it is or the time is over, and keeps how long each answer took."""

    def __init__(self, questions: Sequence[T], limit_seconds: float) -> None:
        self._questions: Iterator[T] = iter(questions)
        self._taking = threading.Lock()
        self._started, self._cpu_started = time.perf_counter(), time.process_time()
        self._deadline = self._started + limit_seconds
        self._seconds: list[float] = []

    def __iter__(self) -> Iterator[T]:
        """May be gone through by several at once: each question is handed out once."""
        while True:
            with self._taking:
                question = next(self._questions, None)
            if question is None or (self._seconds and time.perf_counter() > self._deadline):
                return
            yield question

    def note(self, seconds: float) -> None:
        self._seconds.append(seconds)

    def latency(self) -> Latency:
        cpu_seconds = time.process_time() - self._cpu_started
        return latency(self._seconds, time.perf_counter() - self._started, cpu_seconds)


def ask_at_once(
    ask: Callable[[T], object], questions: Sequence[T], threads: int, limit_seconds: float, warm_up: Sequence[T] = ()
) -> Latency:
    """Each thread asks the next question as soon as it has an answer; before that, all of the warm-up, unmeasured: some
    systems keep a connection for each thread."""
    all_there = threading.Barrier(threads)

    def prepare(_worker: int) -> None:
        all_there.wait()  # or one thread would do the work of several
        for question in warm_up:
            ask(question)

    def work(_worker: int) -> None:
        for question in watch:
            started = time.perf_counter()
            ask(question)
            watch.note(time.perf_counter() - started)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(prepare, range(threads)))
        watch = Stopwatch(questions, limit_seconds)
        list(pool.map(work, range(threads)))
        return watch.latency()


def share(questions: Sequence[T], turn: int, count: int) -> list[T]:
    """Another part for each turn, as far as there are enough, so that no phase is answered from another's caches."""
    return [questions[(turn * count + number) % len(questions)] for number in range(min(count, len(questions)))]


def enough(queries: int, at_once: int) -> int:
    """So many queries that who asks has twenty turns: the first and the last few find the others not yet or no longer
    asking."""
    return max(queries, 20 * at_once)


def rss_mb(pid: int | str = "self") -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    kibibytes = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    return kibibytes * 1024 / 1e6


def memory_mb(pid: int | str = "self", moment: str = "") -> dict[str, float]:
    """Of a process and those that it started: all of their pages that are in memory (RSS; what several map counts for
    each), those that no other process maps (private), these with their share of those that several map (PSS), and
    those that are in no file, so that the system cannot drop them when memory is short (dirty). The names end with the
    moment, if one is given."""
    figures = {"rss_mb": 0, "private_mb": 0, "pss_mb": 0, "dirty_mb": 0}
    for process in family(pid):
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:]
        kibibytes = {name: int(amount.split()[0]) for name, _, amount in (line.partition(":") for line in lines)}
        figures["rss_mb"] += kibibytes["Rss"]
        figures["private_mb"] += kibibytes["Private_Clean"] + kibibytes["Private_Dirty"]
        figures["pss_mb"] += kibibytes["Pss"]
        figures["dirty_mb"] += kibibytes["Private_Dirty"]
    return {f"{name}{moment}": amount * 1024 / 1e6 for name, amount in figures.items()}


def family(pid: int | str = "self") -> list[int | str]:
    """A process and all that it, or one of them, started and that still run."""
    children = [child for thread in Path(f"/proc/{pid}/task").iterdir() for child in _children(thread)]
    return [pid, *(member for child in children for member in family(child))]


def _children(thread: Path) -> list[str]:
    try:
        return (thread / "children").read_text().split()
    except FileNotFoundError:  # the thread has ended
        return []


def disk_mb(folder: Path) -> float:
    """What its files take on disk: some of them have holes."""
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file()) / 1e6
