"""Read Parquet files of notes with a backend or model of a project, outside of the project and of the database."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow
from django.utils.translation import gettext as _
from pyarrow import parquet, types

from annotations.core.services import Progress, ServiceError, silent
from annotations.models import Project, User
from annotations.projects.selectors.labels import accepted_labels
from annotations.threads import cores
from models_runtime.backends.arrow import FINAL, ROWS, BatchReader
from models_runtime.backends.base import BackendError
from models_runtime.core.external import factory_params
from models_runtime.core.model_files import cached
from models_runtime.core.registry import KNOWN, backend_kind, trainable_kind
from models_runtime.runs.events import FILES_READ
from models_runtime.runs.services import bulk_pool
from models_runtime.runs.services.backends import ChosenBackend, chosen

MOST_PROCESSES = 256
# Bytes that are read ahead of a file.
_BUFFER = 1 << 20


@dataclass
class BulkResult:
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
) -> BulkResult:
    """Read all notes of the Parquet file or folder `source` and write their spans to the folder `target`.

    Each part of at most ROWS notes is a file in `target` with the columns of `backends.arrow.SCHEMA`; no text is
    written. A reading that was killed goes on if it is called again with the same arguments. `processes`: by default
    one for each core that this process may use, and one for a model on a GPU. Raises ServiceError.
    """
    if processes is not None and not 1 <= processes <= MOST_PROCESSES:
        message = _("The number of processes must be from 1 to %(most)d, not %(given)d.")
        raise ServiceError(message % {"most": MOST_PROCESSES, "given": processes}, code="processes")
    if threshold is not None and not 0 < threshold < 1:
        message = _("The threshold must be above 0 and below 1, not %(given)s.")
        raise ServiceError(message % {"given": f"{threshold:g}"}, code="threshold")
    choice = chosen(project, model)
    files = _files(source, id_column, text_column)
    total = sum(parquet.read_metadata(path).num_rows for path in files)
    try:
        reader = BatchReader(*_factory(project, choice), id_column, text_column, accepted_labels(project)[0], threshold)
        backend = bulk_pool.described(reader)
        outcome = BulkResult(choice.stem, backend.revision)
        about = {
            "model": backend.revision,
            "labels": sorted((code, reader.codes.get(code)) for code in backend.labels),
            "columns": [id_column, text_column],
            "files": [[path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in files],
        }
        with bulk_pool.open_folder(target, about):
            FILES_READ.record(actor=actor, project_id=project.pk, data={"backend": choice.backend, "notes": total})
            parts = _missing(files, reader, target, outcome)
            for counts in bulk_pool.read_parts(reader, parts, processes or (1 if backend.on_gpu else cores())):
                _add(outcome, counts)
                progress(outcome.notes, total)
    except BackendError as error:
        message = _("%(reason)s Finished parts are kept. Run the same command again to continue.")
        raise ServiceError(message % {"reason": error}, code="model") from error
    except OSError as error:
        message = _(
            "A file can't be read or written (%(reason)s). Finished parts are kept. "
            "Run the same command again to continue."
        )
        raise ServiceError(message % {"reason": error.strerror or type(error).__name__}, code="files") from None
    return outcome


def _add(outcome: BulkResult, counts: bulk_pool.Counts) -> None:
    outcome.notes += counts.notes
    outcome.spans += counts.spans
    outcome.unread += counts.failed


def _missing(files: Sequence[Path], reader: BatchReader, target: Path, outcome: BulkResult) -> Iterator[bulk_pool.Part]:
    """The parts whose files are not there yet. Those that are there are counted."""
    number = first = 0
    for file in files:
        # By default, pyarrow keeps the compressed columns of the whole file in memory.
        opened_file = parquet.ParquetFile(file, pre_buffer=False, buffer_size=_BUFFER)
        for batch in opened_file.iter_batches(ROWS, columns=[reader.id, reader.text]):
            path = bulk_pool.part_path(target, number)
            earlier = bulk_pool.part_in(path)
            if earlier is not None and _answers(earlier, reader, batch):
                counts = bulk_pool.counts_of(earlier)
                _add(outcome, counts)
                outcome.earlier += counts.notes
            else:
                yield bulk_pool.Part(path, batch, first)
            number += 1
            first += batch.num_rows


def _answers(part: pyarrow.Table, reader: BatchReader, batch: pyarrow.RecordBatch) -> bool:
    """Whether a part answers these rows, and no error in it may be gone at another attempt."""
    same = part.column("id").combine_chunks().equals(reader.ids(batch))
    return same and {None, *FINAL}.issuperset(part.column("error").to_pylist())


def _factory(project: Project, choice: ChosenBackend) -> tuple[str, dict[str, Any]]:
    """The factory of a backend, and its parameters. Raises ServiceError `model` for one that needs patients."""
    if choice.model is not None:
        kind = trainable_kind(choice.model.backend)
        return kind.factory, factory_params(kind, cached(choice.model))
    if choice.backend == KNOWN:
        message = _("The backend “%(name)s” needs the patient of each note. Choose another one.")
        raise ServiceError(message % {"name": choice.stem}, code="model")
    return backend_kind(choice.backend).factory, {"label_set": project.label_set.key}


def _files(source: Path, id_column: str, text_column: str) -> list[Path]:
    """The Parquet files, sorted by name. Raises ServiceError `source` or `columns`."""
    files = sorted(source.glob("*.parquet")) if source.is_dir() else [source]
    if not files:
        message = _("The folder %(folder)s has no Parquet files (*.parquet). Choose another one.")
        raise ServiceError(message % {"folder": source}, code="source")
    for path in files:
        schema = _schema(path)
        for name, fits, wanted in (
            (id_column, _is_id, _("texts or whole numbers")),
            (text_column, _is_text, _("texts")),
        ):
            if name not in schema.names:
                message = _("%(path)s has no column “%(name)s”. Its columns: %(choices)s.")
                about = {"path": path, "name": name, "choices": ", ".join(schema.names)}
                raise ServiceError(message % about, code="columns")
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
        message = _("There is no file or folder %(path)s. Check its name.")
        raise ServiceError(message % {"path": path}, code="source") from None
    except pyarrow.ArrowInvalid:
        message = _("%(path)s is not a Parquet file. Choose a Parquet file, or a folder of Parquet files.")
        raise ServiceError(message % {"path": path}, code="source") from None
    except OSError as error:
        message = _("%(path)s can't be read (%(reason)s). Check its permissions.")
        about = {"path": path, "reason": error.strerror or type(error).__name__}
        raise ServiceError(message % about, code="source") from None


def _is_text(kind: pyarrow.DataType) -> bool:
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _is_id(kind: pyarrow.DataType) -> bool:
    return _is_text(kind) or bool(types.is_integer(kind))
