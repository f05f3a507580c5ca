"""Progress reports of long work, independent of the job queue."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol


class Canceled(Exception):
    """Somebody asked the work to stop. Raised by a progress call."""


class Progress(Protocol):
    def __call__(self, done: int, total: int) -> None:
        """Report how much is done. Raises Canceled when the work must stop."""


def silent(done: int, total: int) -> None:
    """Ignore progress, for callers that don't need it."""


Fence = Callable[[], object]
"""Called in each transaction of long work: a worker's `claim.fence`, so that only who has the job writes."""


def no_fence() -> None:
    """The fence of work without a job."""


# Progress bars of commands. They are shown on a terminal only, on standard error; elsewhere nothing is printed.


@contextmanager
def progress_bar(title: str) -> Iterator[Progress]:
    """Show a bar while the block runs. The block gets a `Progress`, which may be called as often as one likes."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    # Imported only here: rich takes a tenth of a second, which no web process and no script shall pay for.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(title, total=None)

        def show(done: int, total: int) -> None:
            bars.update(task, completed=done, total=total or None)

        yield show
