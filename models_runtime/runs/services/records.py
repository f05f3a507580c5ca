"""Let a run read the notes of records, and de-identify folders of records in many processes."""

import json
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet

from annotations.core.bulk import among
from annotations.core.services import ServiceError
from annotations.jobs.waiting import end
from annotations.models import AnnotationSet, Author, AuthorKind, Project, ReleasePolicy, User
from annotations.records.rules.arrow import FREE_TEXT
from annotations.records.rules.plans import COLUMN, ROWS
from annotations.records.rules.reader import LEAK, content_hash
from annotations.records.services.bulk import record_batches
from annotations.records.services.leaving import SIGNATURE, WrittenFile, leave
from annotations.threads import cores
from models_runtime.models import Run
from models_runtime.runs.events import RECORDS_READ, RecordCounts
from models_runtime.runs.services import bulk_pool
from models_runtime.runs.services.backends import ChosenBackend, chosen
from models_runtime.runs.services.runs import started

AT_ONCE: Final = 10_000
PARTS: Final = "part-*.parquet"
MANIFEST: Final = "manifest.json"


def read_records(*, project: Project, name: str, notes: Sequence[int], actor: User | None) -> list[str]:
    """Let a run read those of these notes that none of its kind has read, and wait for the end.

    `name` is that of a run, whose backend and parameters a new run repeats, or of a backend or a trained model. Returns
    the names of all runs with that backend and these parameters. Raises ServiceError.
    """
    run = Run.objects.select_related("model").filter(author__project=project, author__name=name).first()
    choice = ChosenBackend(run.backend, run.model, name.rstrip("0123456789-")) if run else chosen(project, name)
    params = dict(run.params) if run else {}
    same = [one for one in Run.objects.filter(project=project, backend=choice.backend) if one.params == params]
    authors = [one.author_id for one in same]
    read = AnnotationSet.objects.filter(author__in=authors, document__in=among(notes)).values_list(
        "document", flat=True
    )
    left = sorted(set(notes) - set(read))
    for at in range(0, len(left), AT_ONCE):
        new = started(
            project=project, choice=choice, actor=actor, name="", params=params, key=uuid.uuid4().hex,
            only=left[at : at + AT_ONCE],
        )  # fmt: skip
        if new.job is None:
            raise ServiceError(f"The run “{new.author.name}” has no job.", code="run")
        end(new.job, f"The run “{new.author.name}”", code="run", tell=None)
        authors.append(new.author_id)
    rows = Author.objects.filter(pk__in=authors, kind=AuthorKind.RUN)
    return list(rows.order_by("pk").values_list("name", flat=True))


def deidentify_folder(
    *, project: Project, source: Path, target: Path, policy: ReleasePolicy, data_type: str, actor: User | None
) -> dict[str, Any]:
    """De-identify the records in Parquet files of a folder, in one process for each core, into a folder of parts.

    The files have the column `record` with JSON texts; the parts have it, too, and `error` where there is a reason
    instead. A command that was killed goes on if it is given again. Raises ServiceError.
    """
    files = sorted(source.glob("*.parquet"))
    if not files:
        raise ServiceError(f"The folder {source} has no Parquet files (*.parquet). Choose another one.", code="path")
    reader = record_batches(project=project, policy=policy, data_type=data_type)
    about = {
        "policy": [policy.slug, policy.version],
        "schemas": content_hash(list(reader.schemas)),
        "files": [[path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in files],
    }
    with bulk_pool.open_folder(target, about):
        for _counts in bulk_pool.read_parts(reader, _parts(files, target), cores()):
            pass
        counted = _counted(target)
        manifest = target / MANIFEST
        if not manifest.exists():  # Else, the command was given before, and has ended.
            paths = sorted(path for path in target.iterdir() if path.name != MANIFEST + SIGNATURE)
            counts = [_counted(path) for path in paths]
            written = [WrittenFile(path, one["records"], one["leaks"]) for path, one in zip(paths, counts, strict=True)]
            leave(
                project=project, policy=policy, files=written, counts=counted, manifest=manifest, release=None,
                direct=True, actor=actor,
            )  # fmt: skip
        release = json.loads(manifest.read_text())["release"]["number"]
    RECORDS_READ.record(actor=actor, project_id=project.pk, data={**counted, "policy": policy.pk})
    return {**counted, "target": str(target), "release": release}


def _parts(files: Sequence[Path], target: Path) -> Iterator[bulk_pool.Part]:
    """The parts whose files are not there yet."""
    number = first = 0
    for file in files:
        for batch in pyarrow.parquet.ParquetFile(file, pre_buffer=False).iter_batches(ROWS, columns=[COLUMN]):
            path = bulk_pool.part_path(target, number)
            if bulk_pool.part_in(path) is None:
                yield bulk_pool.Part(path, batch, first)
            number, first = number + 1, first + batch.num_rows


def _counted(target: Path) -> RecordCounts:
    """What is in a part or in all parts of a folder: records, and why others are missing."""
    counted: RecordCounts = {"records": 0, "refused": 0, "waiting": 0, "leaks": 0}
    for path in target.glob(PARTS) if target.is_dir() else [target] if target.match(PARTS) else []:
        for error in pyarrow.parquet.read_table(path, columns=["error"]).column("error").to_pylist():
            if error is None:
                counted["records"] += 1
            elif error.endswith(LEAK):
                counted["leaks"] += 1
            else:
                counted["waiting" if error.endswith(FREE_TEXT) else "refused"] += 1
    return counted
