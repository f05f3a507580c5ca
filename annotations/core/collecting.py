"""The garbage collector during work that makes many small objects."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Run a short piece of work, such as one batch of notes, without the garbage collector.

    Objects without cycles are freed at once all the same. Each full collection looks at everything that the process has
    loaded; a batch of a release takes a fifth less time without it (docs/release.md).
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
