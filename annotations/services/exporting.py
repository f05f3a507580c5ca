"""Taking annotation sets out: brat, CoNLL, text; with every loss named span by span."""

import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef

from annotations.domain.formats import FORMATS
from annotations.domain.formats.base import Loss, OutNote
from annotations.domain.labels import CategoryDef, LabelDef, LabelSetDef
from annotations.domain.spans import Span as DomainSpan
from annotations.models import (
    AnnotationSet,
    Author,
    Category,
    GoldVersion,
    GoldVersionNote,
    Label,
    Project,
    Span,
    StoredFile,
    User,
    Verb,
)
from annotations.services.errors import ServiceError
from annotations.services.events import record
from annotations.services.progress import Progress, silent
from annotations.services.staging import store_file

BATCH = 250


@dataclass(frozen=True)
class Wanted:
    """Which annotation sets: a frozen gold version, or an author's submitted readings."""

    spec: str
    author: Author | None = None
    version: GoldVersion | None = None


@dataclass
class ExportReport:
    """What went out; `losses` names what the format could not hold, span by span, by offsets and label."""

    set: str
    format: str
    notes: int = 0
    spans: int = 0
    drafts_left_out: int = 0
    gold_version: int | None = None
    content_hash: str | None = None
    losses: list[dict[str, Any]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


def wanted_set(project: Project, spec: str) -> Wanted:
    """`gold`, `gold:VERSION`, `annotator:NAME` or `run:NAME_OR_ID`. Raises ServiceError with the choices."""
    kind, _, name = spec.partition(":")
    if kind == "gold" and name:
        version = project.gold_versions.filter(number=int(name)).first() if name.isdecimal() else None
        if version is None:
            numbers = ", ".join(str(v.number) for v in project.gold_versions.order_by("number")) or "none yet"
            raise ServiceError(f"there is no gold version {name!r}; frozen versions: {numbers}", code="version")
        return Wanted(spec, version=version)
    authors = Author.objects.filter(project=project, kind=kind)
    if kind in (Author.Kind.GOLD, Author.Kind.ADJUDICATED) and not name:
        author = authors.first()
    else:
        author = authors.filter(name=name).first()
        if author is None and kind == Author.Kind.RUN and name.isdecimal():
            author = authors.filter(pk=int(name)).first()
    if author is None:
        known = ", ".join(set_specs(project)) or "none yet"
        raise ServiceError(f"this project has no annotation sets {spec!r}; there are: {known}", code="set")
    return Wanted(spec, author=author)


def set_specs(project: Project) -> list[str]:
    """Every spec that `wanted_set` takes in this project."""
    specs = []
    # A look into the index for each author, not a walk over all annotation sets.
    has_sets = Exists(AnnotationSet.objects.filter(author_id=OuterRef("pk")))
    for author in Author.objects.filter(has_sets, project=project):
        bare = author.kind in (Author.Kind.GOLD, Author.Kind.ADJUDICATED)
        specs.append(author.kind if bare else f"{author.kind}:{author.name}")
    return specs + [f"gold:{version.number}" for version in project.gold_versions.order_by("number")]


def label_definitions(project: Project, *, merged: bool = False) -> LabelSetDef:
    """The project's label set as the formats want it; `merged` labels too where frozen gold may still name them."""
    categories = []
    for category in Category.objects.filter(label_set__project=project):
        labels = tuple(
            LabelDef(
                code=label.code,
                name=label.name,
                hotkey=label.hotkey,
                description=label.description,
                placeholder=label.placeholder,
            )
            for label in Label.objects.filter(category=category)
            if merged or label.merged_into_id is None
        )
        categories.append(CategoryDef(code=category.code, name=category.name, labels=labels))
    label_set = project.label_set
    return LabelSetDef(
        key=label_set.key,
        name=label_set.name,
        description="",
        source=label_set.source,
        languages=(),
        categories=tuple(categories),
    )


def export_files(
    project: Project, wanted: Wanted, format: str, report: ExportReport, progress: Progress = silent
) -> Iterator[tuple[str, bytes]]:
    """Every file of an export by relative name; `report` is complete once the last one was taken."""
    writer = FORMATS[format]
    codes = {label.code: label.code for label in Label.objects.filter(label_set__project=project)}
    notes = _version_notes(wanted.version) if wanted.version else _author_notes(wanted.author)
    total = _count(wanted)
    progress(0, total)
    for note in notes:
        files, losses = writer.write(note, codes)
        yield from files.items()
        report.notes += 1
        report.spans += len(list(note.spans))
        report.losses += [_loss(loss) for loss in losses]
        if report.notes % BATCH == 0 or report.notes == total:
            progress(report.notes, total)
    yield from writer.extra_files(label_definitions(project, merged=wanted.version is not None)).items()
    yield "export.json", json.dumps(report.as_dict() | {"project": project.slug}, indent=1, ensure_ascii=False).encode()


def _loss(loss: Loss) -> dict[str, Any]:
    span = loss.span
    return {"note": loss.note, "start": span.start, "end": span.end, "label": span.label, "reason": loss.reason}


def _count(wanted: Wanted) -> int:
    if wanted.version:
        return wanted.version.notes.count()
    return AnnotationSet.objects.filter(author=wanted.author, state=AnnotationSet.State.SUBMITTED).count()


def _author_notes(author: Author | None) -> Iterator[OutNote]:
    sets = list(
        AnnotationSet.objects.filter(author=author, state=AnnotationSet.State.SUBMITTED)
        .order_by("document_id")
        .values_list("pk", flat=True)
    )
    for at in range(0, len(sets), BATCH):
        batch = sets[at : at + BATCH]
        spans: dict[int, list[DomainSpan]] = {pk: [] for pk in batch}
        rows = (
            Span.objects.filter(annotation_set__in=batch)
            .order_by("start", "end", "label__position")
            .values_list("annotation_set_id", "start", "end", "label__code")
        )
        for pk, start, end, code in rows:
            spans[pk].append(DomainSpan(start, end, code))
        texts = AnnotationSet.objects.filter(pk__in=batch).order_by("document_id")
        for pk, name, text in texts.values_list("pk", "document__name", "document__text"):
            yield OutNote(name, text, spans[pk])


def _version_notes(version: GoldVersion) -> Iterator[OutNote]:
    notes = GoldVersionNote.objects.filter(version=version).order_by("document_id")
    for name, text, spans in notes.values_list("document__name", "document__text", "spans").iterator(chunk_size=BATCH):
        yield OutNote(name, text, [DomainSpan(start, end, code) for start, end, code, _ in spans])


def _report(project: Project, wanted: Wanted, format: str) -> ExportReport:
    if format not in FORMATS:
        raise ServiceError(f"unknown format {format!r}; there are: {', '.join(FORMATS)}", code="format")
    report = ExportReport(set=wanted.spec, format=format)
    if wanted.version:
        report.gold_version, report.content_hash = wanted.version.number, wanted.version.content_hash
    else:
        report.drafts_left_out = AnnotationSet.objects.filter(
            author=wanted.author, state=AnnotationSet.State.DRAFT
        ).count()
    if not _count(wanted):
        raise ServiceError(
            f"{wanted.spec}: no submitted readings to export ({report.drafts_left_out} drafts)", code="empty"
        )
    return report


def _record(project: Project, report: ExportReport, actor: User | None) -> None:
    data = report.as_dict() | {"losses": len(report.losses)}
    record(verb=Verb.NOTES_EXPORTED, actor=actor, project_id=project.pk, data=data)


def export_to_path(
    *, project: Project, out: Path, format: str, set_spec: str, actor: User | None = None, progress: Progress = silent
) -> dict[str, Any]:
    """Write an export to a new or empty folder, or to a .zip. Written beside first: nothing half-written stays."""
    wanted = wanted_set(project, set_spec)
    report = _report(project, wanted, format)
    if out.exists() and (out.suffix == ".zip" or not out.is_dir() or any(out.iterdir())):
        raise ServiceError(f"{out} exists and is not an empty folder; nothing was written", code="out")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    except OSError as error:
        raise ServiceError(f"{out}: can't write here ({error.strerror}); nothing was written", code="out") from error
    try:
        files = export_files(project, wanted, format, report, progress)
        if out.suffix == ".zip":
            part = beside / "part.zip"
            with part.open("wb") as target:
                _write_zip(target, files)
            part.replace(out)
        else:
            folder = beside / "notes"
            folder.mkdir()
            _write_folder(folder, files)
            folder.replace(out)
    except OSError as error:
        raise ServiceError(f"{out}: {error.strerror}; nothing was written", code="out") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    _record(project, report, actor)
    return report.as_dict()


def _write_folder(folder: Path, files: Iterator[tuple[str, bytes]]) -> None:
    made = {folder}
    for name, data in files:
        path = folder / name
        if path.parent not in made:
            path.parent.mkdir(parents=True, exist_ok=True)
            made.add(path.parent)
        path.write_bytes(data)


def _write_zip(target: Any, files: Iterator[tuple[str, bytes]]) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            # A fixed date: the same set exports to the same bytes.
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)


def run_export(
    *, project_id: int, set_spec: str, format: str, actor_id: int | None, progress: Progress
) -> dict[str, Any]:
    """An export as a job: a zip among the stored files. Returns the report with its `file_id`."""
    project = Project.objects.get(pk=project_id)
    actor = User.objects.filter(pk=actor_id).first() if actor_id else None
    wanted = wanted_set(project, set_spec)
    report = _report(project, wanted, format)
    name = f"{project.slug}-{set_spec.replace(':', '-')}-{format}.zip"
    with tempfile.TemporaryFile() as content:
        _write_zip(content, export_files(project, wanted, format, report, progress))
        content.seek(0)
        with transaction.atomic():
            stored = store_file(project=project, kind=StoredFile.Kind.EXPORT, name=name, content=content, actor=actor)
            _record(project, report, actor)
    return report.as_dict() | {"file_id": stored.pk}
