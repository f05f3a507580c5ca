"""Waiting for threads, processes and browsers, for longer on a busy machine.

A wait ends as soon as its condition is true. It fails if nothing has happened for long, in seconds that count less the
busier the processor is: at load 15 on two cores, a second of the clock counts as 0.13 seconds.
"""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

Found = TypeVar("Found")

# The time limit in seconds for threads and events, which have no progress to observe.
HANGS: Final = 900.0
# The seconds in which something that must not happen would happen. A busy machine can't make such a check fail.
MOMENT: Final = 0.5
STEP: Final = 0.05


def crowding() -> float:
    """Return the tasks per core, at least 1: those running now, or the last minute's mean if that is more."""
    mean, _, _, running, *_ = Path("/proc/loadavg").read_text().split()
    return max(1.0, max(float(mean), float(running.partition("/")[0])) / (os.cpu_count() or 1))


class Patience:
    """A number of seconds without any change; every observed change starts the count again."""

    def __init__(self, seconds: float) -> None:
        self._seconds = self._left = seconds
        self._seen: object = None
        self._at = time.monotonic()

    def has_run_out(self, seen: object = None) -> bool:
        """Return whether the time is over. Call this repeatedly; `seen` is the progress, as any comparable value."""
        now = time.monotonic()
        if seen != self._seen:
            self._left, self._seen = self._seconds, seen
        else:
            self._left -= (now - self._at) / crowding()
        self._at = now
        return self._left <= 0


def wait_for(
    check: Callable[[], Found], timeout: float = 30.0, what: str = "it", progress: Callable[[], object] | None = None
) -> Found:
    """Return the first true value of `check()`. Fail if `progress()` has not changed for `timeout` seconds.

    Without `progress`, `timeout` is the limit for the whole wait. Seconds count less on a busy machine.
    """
    patience = Patience(timeout)
    while not (found := check()):
        if patience.has_run_out(progress() if progress else None):
            raise AssertionError(f"Waited for {what}, but nothing happened for {timeout:.0f} s.")
        time.sleep(STEP)
    return found


def ended(process: subprocess.Popen, timeout: float = 30.0) -> int:  # type: ignore[type-arg]
    """Wait until a process ends, as `wait_for` does. Return its exit status."""
    wait_for(lambda: process.poll() is not None, timeout, f"process {process.pid} to end")
    return int(process.returncode)


def in_browser(seconds: float = 30.0) -> float:
    """Return a timeout for the browser in milliseconds, longer on a busy machine."""
    return 1000 * seconds * (1 + crowding())
