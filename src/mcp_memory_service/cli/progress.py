"""How far long work has come: one line on stderr that is written over, or a line now and then where that cannot be."""

import sys
import time

BAR = 24
REDRAW_SECONDS = 0.1
LOG_SECONDS = 15.0


class ProgressLine:
    """Called with what is being done, how much is done, and how much there is to do."""

    def __init__(self) -> None:
        self._interactive = sys.stderr.isatty()
        self._doing = ""
        self._started = self._shown = 0.0
        self._done_at_start = 0

    def __call__(self, doing: str, done: int, total: int) -> None:
        now = time.monotonic()
        if doing != self._doing:
            self._doing, self._started, self._done_at_start = doing, now, done
            self._shown = 0.0 if self._interactive else now  # short work needs no word in a log
        finished = done >= total
        if finished and not self._interactive and now - self._started < LOG_SECONDS:
            return
        if not finished and now - self._shown < (REDRAW_SECONDS if self._interactive else LOG_SECONDS):
            return
        self._shown = now
        filled = BAR * done // max(1, total)
        line = f"{doing} [{'#' * filled}{'.' * (BAR - filled)}] {done:,}/{total:,}"
        since_first = done - self._done_at_start
        if not finished and since_first > 0:  # the first call says nothing about the speed
            line += f" about {(now - self._started) / since_first * (total - done):.0f} s left"
        if self._interactive:
            sys.stderr.write(f"\r\x1b[K{line}" + ("\n" if finished else ""))
        else:
            sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
