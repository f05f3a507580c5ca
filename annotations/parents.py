"""A process that ends with the process that started it."""

import ctypes
import os
import signal
from contextlib import suppress
from typing import Final

_PR_SET_PDEATHSIG: Final = 1


def end_with(parent: int | None, signum: signal.Signals = signal.SIGKILL) -> bool:
    """Let this process get a signal when its parent ends, even by kill -9. False if the parent has ended already."""
    with suppress(OSError, AttributeError):  # not Linux
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signum)
    return os.getppid() == parent
