"""Read Parquet files of notes with a backend or model of a project, outside of the project and of the database."""

import ctypes
import fcntl
import json
import multiprocessing
import os
import re
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pyarrow
import pyarrow.compute
from django.utils.translation import gettext as _
from pyarrow import parquet, types

from annotations.core.errors import ServiceError
from annotations.core.progress import Progress, silent
from annotations.models import Project, User
from annotations.projects.selectors.labels import accepted_labels
from annotations.threads import VARIABLES, cores, threads_for
from models_runtime.backends.arrow import FINAL, ROWS, BatchReader, answer
from models_runtime.backends.base import BackendError, OnDevice
from models_runtime.core.embeddings import factory_params
from models_runtime.core.model_files import cached
from models_runtime.core.registry import KNOWN, backend_kind, trainable_kind
from models_runtime.runs.events import FILES_READ
from models_runtime.runs.services.backends import Chosen, chosen

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
def opened(target: Path, about: Mapping[str, Any]) -> Iterator[None]:
    """Make the folder, or go on with one that was made of the same (`about`), alone.

    Raises ServiceError `target` for a folder that can't be written to, that has other content, or in which another
    reading is going on.
    """
    new = not (target / LOCK).exists()
    try:
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = (target / LOCK).open("a")
    except OSError as error:
        raise ServiceError(
            _("Can't write to the folder %(folder)s (%(reason)s). Choose another one.")
            % {"folder": target, "reason": error.strerror},
            code="target",
        ) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ServiceError(
                _("Another command is writing to %(folder)s. Wait until it ends.") % {"folder": target}, code="target"
            ) from None
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
            raise ServiceError(
                _("The folder %(folder)s holds other files. Choose an empty one.") % {"folder": target}, code="target"
            ) from None
        _write(path, json.dumps(about, indent=1).encode())
        earlier = json.loads(json.dumps(about))
    except ValueError:
        earlier = {}
    if differing := _differing(earlier, json.loads(json.dumps(about))):
        raise ServiceError(
            _("The folder %(folder)s holds the answers of another reading. Different: %(names)s. Choose an empty one.")
            % {"folder": target, "names": ", ".join(differing)},
            code="target",
        )
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


# A pool of processes that read record batches and write their answers as parts.


# Batches that wait for each process. They bound the memory.
AHEAD: Final = 2
# If so many notes in a row kill the process that reads nothing else, the fault is not the notes'.
KILLS: Final = 3
KILLED: Final = "The process that read this note was killed."
_PR_SET_PDEATHSIG: Final = 1

_reader: BatchReader | None = None


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
class Described:
    """The backend of a reader."""

    revision: str
    labels: tuple[str, ...]
    on_gpu: bool


def described(reader: BatchReader) -> Described:
    """Load the backend in a process of its own, so that its memory is free again. Raises BackendError."""
    with _pool(reader, 1) as pool:
        return pool.submit(_described).result()


def read_parts(reader: BatchReader, parts: Iterable[Part], processes: int) -> Iterator[Counts]:
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


def _read_again(reader: BatchReader, part: Part) -> Counts:
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
            answers.append(answer(reader.ids(part.batch.slice(len(answers), 1)), [(None, KILLED)]))
    whole = pyarrow.Table.from_batches(answers).combine_chunks().to_batches()[0]
    write_part(part.path, whole)
    return counts_of(whole)


def _killed(last: int) -> ServiceError:
    return ServiceError(
        _(
            "Each of the notes %(first)d to %(last)d of the input killed the process that read it, perhaps for lack of "
            "memory. Finished parts are kept: start the command again with more memory."
        )
        % {"first": last - KILLS + 1, "last": last},
        code="killed",
    )


@contextmanager
def _pool(reader: BatchReader, processes: int) -> Iterator[ProcessPoolExecutor]:
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


def _start(parent: int, reader: BatchReader) -> None:
    """Prepare a process: it ends with the command, and leaves Ctrl+C to it."""
    global _reader
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the command ended before prctl was called
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _reader = reader


def _described() -> Described:
    assert _reader is not None
    backend = _reader.backend()
    on_gpu = isinstance(backend, OnDevice) and bool(getattr(backend.device, "is_gpu", False))
    return Described(backend.revision, backend.labels, on_gpu)


def _answer(batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
    assert _reader is not None
    return _reader(batch)


def _one(part: Part) -> Counts:
    answered = _answer(part.batch)
    write_part(part.path, answered)
    return counts_of(answered)


def counts_of(answered: Any) -> Counts:
    """Count notes, spans and failed notes of an answer (a record batch or a table with arrow.SCHEMA)."""
    spans = pyarrow.compute.sum(pyarrow.compute.list_value_length(answered.column("spans"))).as_py() or 0
    return Counts(answered.num_rows, spans, answered.num_rows - answered.column("error").null_count)


MOST_PROCESSES = 256
# Bytes that are read ahead of a file.
_BUFFER = 1 << 20


@dataclass
class Reading:
    """The outcome. `unread` notes have an error instead of spans; `earlier` notes were read by an earlier command."""

    model: str
    revision: str
    notes: int = 0
    spans: int = 0
    unread: int = 0
    earlier: int = 0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def read_parquet(
    *,
    project: Project,
    model: str,
    source: Path,
    target: Path,
    actor: User | None,
    id_column: str = "id",
    text_column: str = "text",
    threshold: float | None = None,
    processes: int | None = None,
    progress: Progress = silent,
) -> Reading:
    """Read all notes of the Parquet file or folder `source` and write their spans to the folder `target`.

    Each part of at most ROWS notes is a file in `target` with the columns of `backends.arrow.SCHEMA`; no text is
    written. A reading that was killed goes on if it is called again with the same arguments. `processes`: by default
    one for each core that this process may use, and one for a model on a GPU. Raises ServiceError.
    """
    if processes is not None and not 1 <= processes <= MOST_PROCESSES:
        raise ServiceError(
            _("The number of processes must be from 1 to %(most)d, not %(given)d.")
            % {"most": MOST_PROCESSES, "given": processes},
            code="processes",
        )
    if threshold is not None and not 0 < threshold < 1:
        raise ServiceError(
            _("The threshold must be above 0 and below 1, not %(given)s.") % {"given": f"{threshold:g}"},
            code="threshold",
        )
    choice = chosen(project, model)
    files = _files(source, id_column, text_column)
    total = sum(parquet.read_metadata(path).num_rows for path in files)
    try:
        reader = BatchReader(*_factory(project, choice), id_column, text_column, accepted_labels(project)[0], threshold)
        backend = described(reader)
        outcome = Reading(choice.stem, backend.revision)
        about = {
            "model": backend.revision,
            "labels": sorted((code, reader.codes.get(code)) for code in backend.labels),
            "columns": [id_column, text_column],
            "files": [[path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in files],
        }
        with opened(target, about):
            FILES_READ.record(actor=actor, project_id=project.pk, data={"backend": choice.backend, "notes": total})
            parts = _missing(files, reader, target, outcome)
            for counts in read_parts(reader, parts, processes or (1 if backend.on_gpu else cores())):
                _add(outcome, counts)
                progress(outcome.notes, total)
    except BackendError as error:
        raise ServiceError(
            _("%(reason)s Finished parts are kept: the same command goes on.") % {"reason": error}, code="model"
        ) from error
    except OSError as error:
        raise ServiceError(
            _("A file can't be read or written (%(reason)s). Finished parts are kept: the same command goes on.")
            % {"reason": error.strerror or type(error).__name__},
            code="files",
        ) from None
    return outcome


def _add(outcome: Reading, counts: Counts) -> None:
    outcome.notes += counts.notes
    outcome.spans += counts.spans
    outcome.unread += counts.failed


def _missing(files: Sequence[Path], reader: BatchReader, target: Path, outcome: Reading) -> Iterator[Part]:
    """The parts whose files are not there yet. Those that are there are counted."""
    number = first = 0
    for file in files:
        # By default, pyarrow keeps the compressed columns of the whole file in memory.
        opened_file = parquet.ParquetFile(file, pre_buffer=False, buffer_size=_BUFFER)
        for batch in opened_file.iter_batches(ROWS, columns=[reader.id, reader.text]):
            path = part_path(target, number)
            earlier = part_in(path)
            if earlier is not None and _answers(earlier, reader, batch):
                counts = counts_of(earlier)
                _add(outcome, counts)
                outcome.earlier += counts.notes
            else:
                yield Part(path, batch, first)
            number += 1
            first += batch.num_rows


def _answers(part: pyarrow.Table, reader: BatchReader, batch: pyarrow.RecordBatch) -> bool:
    """Whether a part answers these rows, and no error in it may be gone at another attempt."""
    same = part.column("id").combine_chunks().equals(reader.ids(batch))
    return same and {None, *FINAL}.issuperset(part.column("error").to_pylist())


def _factory(project: Project, choice: Chosen) -> tuple[str, dict[str, Any]]:
    """The factory of a backend, and its parameters. Raises ServiceError `model` for one that needs patients."""
    if choice.model is not None:
        kind = trainable_kind(choice.model.backend)
        return kind.factory, factory_params(kind, cached(choice.model))
    if choice.backend == KNOWN:
        raise ServiceError(
            _("The backend “%(name)s” needs the patient of each note. Choose another one.") % {"name": choice.stem},
            code="model",
        )
    return backend_kind(choice.backend).factory, {"label_set": project.label_set.key}


def _files(source: Path, id_column: str, text_column: str) -> list[Path]:
    """The Parquet files, sorted by name. Raises ServiceError `source` or `columns`."""
    files = sorted(source.glob("*.parquet")) if source.is_dir() else [source]
    if not files:
        raise ServiceError(
            _("The folder %(folder)s has no Parquet files (*.parquet). Choose another one.") % {"folder": source},
            code="source",
        )
    for path in files:
        schema = _schema(path)
        for name, fits, wanted in (
            (id_column, _is_id, _("texts or whole numbers")),
            (text_column, _is_text, _("texts")),
        ):
            if name not in schema.names:
                raise ServiceError(
                    _("%(path)s has no column “%(name)s”. Its columns: %(choices)s.")
                    % {"path": path, "name": name, "choices": ", ".join(schema.names)},
                    code="columns",
                )
            if not fits(schema.field(name).type):
                raise ServiceError(
                    _("%(path)s: the column “%(name)s” must hold %(wanted)s, not %(type)s. Choose another column.")
                    % {"path": path, "name": name, "wanted": wanted, "type": schema.field(name).type},
                    code="columns",
                )
    return files


def _schema(path: Path) -> pyarrow.Schema:
    try:
        return parquet.read_schema(path)
    except FileNotFoundError:
        raise ServiceError(
            _("There is no file or folder %(path)s. Check its name.") % {"path": path}, code="source"
        ) from None
    except pyarrow.ArrowInvalid:
        raise ServiceError(
            _("%(path)s is not a Parquet file. Choose such a file, or a folder of them.") % {"path": path},
            code="source",
        ) from None
    except OSError as error:
        raise ServiceError(
            _("%(path)s can't be read (%(reason)s). Check its permissions.")
            % {"path": path, "reason": error.strerror or type(error).__name__},
            code="source",
        ) from None


def _is_text(kind: pyarrow.DataType) -> bool:
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _is_id(kind: pyarrow.DataType) -> bool:
    return _is_text(kind) or bool(types.is_integer(kind))
