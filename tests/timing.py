"""CPU time in tests: for algorithms whose time must not explode, never for a figure of speed.

The time is this thread's, so that neither other processes nor other threads count. The garbage collector is off, since
one run over the objects of all tests before takes longer than what is measured. A stutter of the machine can still make
a measurement too long, but never too short: hence the least of a few tries.
"""

import gc
import time
from collections.abc import Callable
from typing import Final

TRIES: Final = 4


def cpu_seconds(act: Callable[[], object]) -> float:
    """Return the CPU seconds that this thread takes for `act()`."""
    collected = gc.isenabled()
    gc.disable()
    try:
        began = time.thread_time()
        act()
        return time.thread_time() - began
    finally:
        if collected:
            gc.enable()


def takes_at_most(seconds: float, act: Callable[[], object]) -> bool:
    """Return whether `act()` takes at most so many CPU seconds in one of a few tries."""
    return any(cpu_seconds(act) <= seconds for _ in range(TRIES))


def grows_in_proportion(short: Callable[[], object], long: Callable[[], object], floor: float = 0.02) -> bool:
    """Return whether `long`, with four times the work of `short`, takes less than twelve times its CPU seconds.

    With the square of the work it would take sixteen times. `floor` are the seconds below which `short` is too short to
    be measured.
    """
    return any(cpu_seconds(long) < 12 * max(cpu_seconds(short), floor) for _ in range(TRIES))
