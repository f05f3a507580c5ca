"""A pool of processes that read record batches and write their answers as parts."""

import ctypes
import multiprocessing
import os
import signal
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow
import pyarrow.compute
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.domain.threads import VARIABLES, threads_for
from models_runtime.backends.arrow import BatchReader
from models_runtime.bulk.services.parts import write_part

# Batches that wait for each process. They bound the memory.
AHEAD: Final = 2
# A part is given up after it was lost with this many processes.
TRIES: Final = 3
_PR_SET_PDEATHSIG: Final = 1

_reader: BatchReader | None = None


@dataclass(frozen=True)
class Part:
    """A batch, and the file for its answer."""

    path: Path
    batch: pyarrow.RecordBatch


@dataclass(frozen=True)
class Counts:
    """What is in a part."""

    notes: int
    spans: int
    failed: int


def read_parts(reader: BatchReader, parts: Iterable[Part], processes: int) -> Iterator[Counts]:
    """Read the parts in any order, and yield the counts of each as soon as its file is on disk.

    After a process was killed, the parts that were lost with it are read again, one at a time. Raises ServiceError
    `killed` for a part that was lost TRIES times, and BackendError if the backend can't be loaded.
    """
    waiting, lost, tries = iter(parts), list[Part](), dict[Path, int]()
    while True:
        doing: dict[Future[Counts], Part] = {}
        alone = bool(lost)
        try:
            with _pool(reader, 1 if alone else processes) as pool:
                yield from _read(pool, _taken(lost) if alone else waiting, doing, 1 if alone else AHEAD * processes)
            if not alone:
                return
        except BrokenProcessPool:
            lost += doing.values()
        for part in doing.values() if alone else ():
            tries[part.path] = tries.get(part.path, 1) + 1
            if tries[part.path] == TRIES:
                raise ServiceError(
                    _(
                        "The process that read %(part)s was killed %(tries)d times, perhaps for lack of memory. "
                        "Finished parts are kept: start the command again, with more memory or fewer processes."
                    )
                    % {"part": part.path.name, "tries": TRIES},
                    code="killed",
                )


def _taken(parts: list[Part]) -> Iterator[Part]:
    while parts:
        yield parts.pop()


def _read(
    pool: ProcessPoolExecutor, parts: Iterator[Part], doing: dict[Future[Counts], Part], most: int
) -> Iterator[Counts]:
    """`doing`: the parts that were sent and not finished; the caller reads it after a BrokenProcessPool."""
    more = True
    while more or doing:
        while more and len(doing) < most:
            part = next(parts, None)
            if part is None:
                more = False
                break
            try:
                doing[pool.submit(_one, part)] = part
            except BrokenProcessPool:
                doing[Future()] = part
                raise
        for future in wait(doing, return_when=FIRST_COMPLETED).done:
            counts = future.result()
            del doing[future]
            yield counts


@contextmanager
def _pool(reader: BatchReader, processes: int) -> Iterator[ProcessPoolExecutor]:
    """Start the processes. Each gets its share of the cores as threads."""
    kept = {name: os.environ.get(name) for name in VARIABLES}
    os.environ.update(dict.fromkeys(VARIABLES, str(threads_for(processes))))
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, mp_context=context, initializer=_start, initargs=(os.getpid(), reader))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)
        for name, value in kept.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _start(parent: int, reader: BatchReader) -> None:
    """Prepare a process: it ends with the command, and leaves Ctrl+C to it."""
    global _reader
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the command ended before prctl was called
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _reader = reader


def _one(part: Part) -> Counts:
    assert _reader is not None
    answer: Any = _reader(part.batch)
    write_part(part.path, answer)
    return counts_of(answer)


def counts_of(answer: Any) -> Counts:
    """Count notes, spans and failed notes of an answer (a record batch or a table with arrow.SCHEMA)."""
    spans = pyarrow.compute.sum(pyarrow.compute.list_value_length(answer.column("spans"))).as_py() or 0
    return Counts(answer.num_rows, spans, answer.num_rows - answer.column("error").null_count)
