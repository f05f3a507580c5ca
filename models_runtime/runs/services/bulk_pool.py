"""A pool of processes that read record batches and write their answers as parts."""

import fcntl
import json
import multiprocessing
import os
import re
import signal
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final, Protocol

import pyarrow
import pyarrow.compute
from django.utils.translation import gettext as _
from pyarrow import parquet

from annotations.core.errors import ServiceError
from annotations.parents import end_with
from annotations.threads import VARIABLES, threads_for
from models_runtime.backends.arrow import BatchReader
from models_runtime.backends.base import OnDevice

# The folder that a reading writes: one Parquet file for each part, and what the parts were made of.
#
# A part is complete as soon as its file is there, because it gets its name only when it is on disk. So a reading that
# was killed goes on where it stopped, and each note is in exactly one part.


# Spark, Ray and pyarrow ignore files that begin with an underscore when they read the folder.
ABOUT: Final = "_about.json"
LOCK: Final = "_lock"


# What a killed process can leave.
_HALF: Final = re.compile(r"_part-\d+-(?:part-\d{7}\.parquet|_about\.json)")


@contextmanager
def open_folder(target: Path, about: Mapping[str, Any]) -> Iterator[None]:
    """Make the folder, or go on with one that was made of the same (`about`), alone.

    Raises ServiceError `target` for a folder that can't be written to, that has other content, or in which another
    reading is going on.
    """
    new = not (target / LOCK).exists()
    try:
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = (target / LOCK).open("a")
    except OSError as error:
        message = _("Can't write to the folder %(folder)s (%(reason)s). Choose another one.")
        raise ServiceError(message % {"folder": target, "reason": error.strerror}, code="target") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = _("Another command is writing to %(folder)s. Wait until it ends.")
            raise ServiceError(message % {"folder": target}, code="target") from None
        try:
            _check(target, about)
        except ServiceError:
            if new:
                (target / LOCK).unlink()
            raise
        yield


def _check(target: Path, about: Mapping[str, Any]) -> None:
    path, halves = target / ABOUT, [one for one in target.iterdir() if _HALF.fullmatch(one.name)]
    try:
        earlier = json.loads(path.read_text())
    except FileNotFoundError:
        if any(one.name != LOCK and one not in halves for one in target.iterdir()):
            message = _("The folder %(folder)s holds other files. Choose an empty one.")
            raise ServiceError(message % {"folder": target}, code="target") from None
        _write(path, json.dumps(about, indent=1).encode())
        earlier = json.loads(json.dumps(about))
    except ValueError:
        earlier = {}
    if differing := _differing(earlier, json.loads(json.dumps(about))):
        message = _("The folder %(folder)s holds results for other settings: %(names)s. Choose an empty folder.")
        raise ServiceError(message % {"folder": target, "names": ", ".join(differing)}, code="target")
    for half in halves:  # It would be written again.
        half.unlink()


def _differing(earlier: Any, about: Mapping[str, Any]) -> list[str]:
    known = earlier if isinstance(earlier, dict) else {}
    return [name for name in about if known.get(name) != about[name]]


def part_path(target: Path, number: int) -> Path:
    return target / f"part-{number:07}.parquet"


def part_in(path: Path) -> pyarrow.Table | None:
    """Return a part; None if it isn't there, or is damaged."""
    try:
        return parquet.read_table(path)
    except (FileNotFoundError, pyarrow.ArrowInvalid):
        return None


def write_part(path: Path, batch: pyarrow.RecordBatch) -> None:
    """Write a part to the disk, and only then give it its name."""
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.Table.from_batches([batch]), sink, compression="zstd")
    _write(path, sink.getvalue())


def _write(path: Path, content: bytes | pyarrow.Buffer) -> None:
    part = path.with_name(f"_part-{os.getpid()}-{path.name}")
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        with suppress(FileNotFoundError):
            part.unlink()


# Batches that wait for each process. They bound the memory.
AHEAD: Final = 2
# If so many notes in a row kill the process that reads nothing else, the fault is not the notes'.
KILLS: Final = 3
KILLED: Final = "The process that read this note was killed."


class PartReader(Protocol):
    """Answers record batches. It can be pickled."""

    def __call__(self, batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch: ...

    def failed(self, batch: pyarrow.RecordBatch, reason: str) -> pyarrow.RecordBatch:
        """The answer for rows that could not be read."""


_reader: PartReader | None = None


@dataclass(frozen=True)
class Part:
    """A batch, the file for its answer, and the number of notes before it in the whole input."""

    path: Path
    batch: pyarrow.RecordBatch
    first: int


@dataclass(frozen=True)
class Counts:
    """What is in a part."""

    notes: int
    spans: int
    failed: int


@dataclass(frozen=True)
class BackendDescription:
    """The backend of a reader."""

    revision: str
    labels: tuple[str, ...]
    on_gpu: bool


def described(reader: BatchReader) -> BackendDescription:
    """Load the backend in a process of its own, so that its memory is free again. Raises BackendError."""
    with _pool(reader, 1) as pool:
        return pool.submit(_described).result()


def read_parts(reader: PartReader, parts: Iterable[Part], processes: int) -> Iterator[Counts]:
    """Read the parts in any order, and yield the counts of each as soon as its file is on disk.

    After a process was killed, the parts that were being read are read again, one at a time. Of a part that kills its
    process again, each note is read by itself, and a note that kills it gets an error. Raises ServiceError `killed` if
    KILLS notes in a row do so, BackendError if the backend can't be loaded or fails, and OSError.
    """
    waiting: Iterator[Part] = iter(parts)
    while True:
        doing: dict[Future[Counts], Part] = {}
        try:
            with _pool(reader, processes) as pool:
                yield from _read(pool, waiting, doing, AHEAD * processes)
            return
        except BrokenProcessPool:
            sent = list(doing.values())
        # Those sent later were still waiting in the queue of the pool.
        for part in sent[:processes]:
            yield _read_again(reader, part)
        waiting = chain(sent[processes:], waiting)


def _read(
    pool: ProcessPoolExecutor, parts: Iterator[Part], doing: dict[Future[Counts], Part], most: int
) -> Iterator[Counts]:
    """`doing`: the parts that were sent and not finished, in this order; the caller reads it if the pool is broken."""
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


def _read_again(reader: PartReader, part: Part) -> Counts:
    """Read a part in a process that reads nothing else; if it is killed too, note by note."""
    with suppress(BrokenProcessPool), _pool(reader, 1) as pool:
        return pool.submit(_one, part).result()
    answers: list[pyarrow.RecordBatch] = []
    kills = 0
    while len(answers) < part.batch.num_rows:
        try:
            with _pool(reader, 1) as pool:
                while len(answers) < part.batch.num_rows:
                    answers.append(pool.submit(_answer, part.batch.slice(len(answers), 1)).result())
                    kills = 0
        except BrokenProcessPool:
            kills += 1
            if kills == KILLS:
                raise _killed(part.first + len(answers) + 1) from None
            answers.append(reader.failed(part.batch.slice(len(answers), 1), KILLED))
    whole = pyarrow.Table.from_batches(answers).combine_chunks().to_batches()[0]
    write_part(part.path, whole)
    return counts_of(whole)


def _killed(last: int) -> ServiceError:
    message = _(
        "Each of the notes %(first)d to %(last)d of the input killed the process that read it, perhaps for lack of "
        "memory. Finished parts are kept. Run the same command again with more memory."
    )
    return ServiceError(message % {"first": last - KILLS + 1, "last": last}, code="killed")


@contextmanager
def _pool(reader: PartReader, processes: int) -> Iterator[ProcessPoolExecutor]:
    """Start the processes. Each gets its share of the cores as threads, unless the environment says another number."""
    added = [name for name in VARIABLES if name not in os.environ]
    os.environ.update(dict.fromkeys(added, str(threads_for(processes))))
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, mp_context=context, initializer=_start, initargs=(os.getpid(), reader))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)
        for name in added:
            del os.environ[name]


def _start(parent: int, reader: PartReader) -> None:
    """Prepare a process: it ends with the command, and leaves Ctrl+C to it."""
    global _reader
    if not end_with(parent):
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _reader = reader


def _described() -> BackendDescription:
    assert isinstance(_reader, BatchReader)
    backend = _reader.backend()
    on_gpu = isinstance(backend, OnDevice) and bool(getattr(backend.device, "is_gpu", False))
    return BackendDescription(backend.revision, backend.labels, on_gpu)


def _answer(batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
    assert _reader is not None
    return _reader(batch)


def _one(part: Part) -> Counts:
    answered = _answer(part.batch)
    write_part(part.path, answered)
    return counts_of(answered)


def counts_of(answered: Any) -> Counts:
    """Count notes, spans if it has any, and failed notes of an answer (a record batch or a table)."""
    spans = 0
    if "spans" in answered.schema.names:
        spans = pyarrow.compute.sum(pyarrow.compute.list_value_length(answered.column("spans"))).as_py() or 0
    return Counts(answered.num_rows, spans, answered.num_rows - answered.column("error").null_count)
