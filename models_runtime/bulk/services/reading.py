"""Read Parquet files of notes with a backend or model of a project, outside of the project and of the database."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow
from django.utils.translation import gettext as _
from pyarrow import parquet

from annotations.core.errors import ServiceError
from annotations.core.progress import Progress, silent
from annotations.domain.threads import cores
from annotations.models import Project, User
from annotations.projects.selectors.labels import accepted_labels
from models_runtime.backends.arrow import ROWS, BatchReader
from models_runtime.backends.base import BackendError
from models_runtime.bulk.events import FILES_READ
from models_runtime.bulk.services.parts import opened, part_path, rows_in
from models_runtime.bulk.services.pool import Counts, Part, counts_of, read_parts
from models_runtime.core.embeddings import factory_params
from models_runtime.core.model_files import cached, load_model
from models_runtime.core.registry import KNOWN, backend_kind, trainable_kind
from models_runtime.runs.services.backends import chosen

MOST_PROCESSES = 256


@dataclass
class Reading:
    """The outcome. `failed` notes have an error instead of spans; `earlier` notes were read by an earlier command."""

    model: str
    revision: str
    notes: int = 0
    spans: int = 0
    failed: int = 0
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
    one for each core that this process may use. Raises ServiceError.
    """
    processes = cores() if processes is None else processes
    if not 1 <= processes <= MOST_PROCESSES:
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
    reader, key, outcome = _reader(project, model, id_column, text_column, threshold)
    files = _files(source, (id_column, text_column))
    total = sum(parquet.read_metadata(path).num_rows for path in files)
    about = {
        "revision": outcome.revision,
        "labels": sorted(reader.codes.items()),
        "columns": [id_column, text_column],
        "rows": ROWS,
        "files": [[path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in files],
    }
    with opened(target, about):
        FILES_READ.record(actor=actor, project_id=project.pk, data={"backend": key, "notes": total})
        try:
            for counts in read_parts(reader, _missing(files, reader, target, outcome), processes):
                _add(outcome, counts)
                progress(outcome.notes, total)
        except BackendError as error:
            raise ServiceError(str(error), code="model") from error
    return outcome


def _add(outcome: Reading, counts: Counts) -> None:
    outcome.notes += counts.notes
    outcome.spans += counts.spans
    outcome.failed += counts.failed


def _missing(files: Sequence[Path], reader: BatchReader, target: Path, outcome: Reading) -> Iterator[Part]:
    """The parts whose files are not there yet. Those that are there are counted."""
    number = 0
    for file in files:
        for batch in parquet.ParquetFile(file).iter_batches(ROWS, columns=[reader.id, reader.text]):
            path = part_path(target, number)
            number += 1
            if rows_in(path) == batch.num_rows:
                counts = counts_of(parquet.read_table(path))
                _add(outcome, counts)
                outcome.earlier += counts.notes
            else:
                yield Part(path, batch)


def _reader(
    project: Project, model: str, id_column: str, text_column: str, threshold: float | None
) -> tuple[BatchReader, str, Reading]:
    """Return the reader, the key of its backend, and an empty outcome. Loads the backend once, to check it."""
    choice = chosen(project, model)
    codes, _labels = accepted_labels(project)
    try:
        if choice.model is not None:
            load_model(choice.model)
            kind = trainable_kind(choice.model.backend)
            factory, params = kind.factory, factory_params(kind, cached(choice.model))
        else:
            factory, params = backend_kind(choice.backend).factory, {"label_set": project.label_set.key}
        reader = BatchReader(factory, params, id_column, text_column, codes, threshold)
        if choice.backend == KNOWN:
            raise ServiceError(
                _("The backend “%(name)s” needs the patient of each note. Choose another one.") % {"name": choice.stem},
                code="model",
            )
        return reader, choice.backend, Reading(choice.stem, reader.backend().revision)
    except BackendError as error:
        raise ServiceError(str(error), code="model") from error


def _files(source: Path, columns: Sequence[str]) -> list[Path]:
    """The Parquet files, sorted by name. Raises ServiceError `source` or `columns`."""
    files = sorted(source.glob("*.parquet")) if source.is_dir() else [source]
    if not files:
        raise ServiceError(_("The folder %(folder)s has no files *.parquet.") % {"folder": source}, code="source")
    for path in files:
        try:
            schema: Any = parquet.read_schema(path)
        except FileNotFoundError:
            raise ServiceError(_("There is no file or folder %(path)s.") % {"path": path}, code="source") from None
        except (OSError, pyarrow.ArrowInvalid):
            raise ServiceError(_("%(path)s is not a Parquet file.") % {"path": path}, code="source") from None
        for name in columns:
            if name not in schema.names:
                raise ServiceError(
                    _("%(path)s has no column “%(name)s”. Its columns: %(choices)s.")
                    % {"path": path, "name": name, "choices": ", ".join(schema.names)},
                    code="columns",
                )
    return files
