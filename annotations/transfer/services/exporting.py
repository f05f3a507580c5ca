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
from django.db.models import QuerySet
from django.utils.translation import gettext, ngettext

from annotations.core.erasures import erasures_of, unerased
from annotations.core.errors import ServiceError
from annotations.core.events import record
from annotations.core.progress import Progress, silent
from annotations.core.stored_files import store_file
from annotations.domain.formats import FORMATS
from annotations.domain.formats.base import Loss, OutNote
from annotations.domain.labels import CategoryDef, LabelDef, LabelSetDef
from annotations.domain.spans import Span as DomainSpan
from annotations.gold.services.sets import FOLDERS, Wanted, wanted_set
from annotations.models import (
    AnnotationSet,
    Author,
    Category,
    GoldVersionNote,
    Label,
    Project,
    Span,
    StoredFile,
    User,
    Verb,
)
from annotations.transfer.selectors.losses import named_losses

BATCH = 250


@dataclass
class ExportReport:
    """What went out; `losses` says what the format could not hold, span by span: the note by its id, offsets, label."""

    set: str
    format: str
    notes: int = 0
    spans: int = 0
    drafts_left_out: int = 0
    gold_version: int | None = None
    content_hash: str | None = None
    split: dict[str, Any] | None = None
    losses: list[dict[str, Any]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


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
    notes = _version_notes(wanted) if wanted.version else _author_notes(wanted.author)
    sides: dict[str, str] = {}
    total = _count(wanted)
    progress(0, total)
    for pk, note, side in notes:
        files, losses = writer.write(note, codes)
        folder = f"{side}/" if side and wanted.split == FOLDERS else ""
        yield from ((folder + name, data) for name, data in files.items())
        if side:
            sides[note.name] = side
        report.notes += 1
        report.spans += len(list(note.spans))
        report.losses += [_loss(pk, loss) for loss in losses]
        if report.notes % BATCH == 0 or report.notes == total:
            progress(report.notes, total)
    yield from writer.extra_files(label_definitions(project, merged=wanted.version is not None)).items()
    manifest = report.as_dict() | {"project": project.slug, "losses": named_losses(project, report.losses)}
    if report.split is not None:
        manifest["split"] = report.split | {"notes": sides}
    yield "export.json", json.dumps(manifest, indent=1, ensure_ascii=False).encode()


def _loss(note: int, loss: Loss) -> dict[str, Any]:
    span = loss.span
    return {"note": note, "start": span.start, "end": span.end, "label": span.label, "reason": loss.reason}


def _count(wanted: Wanted) -> int:
    if wanted.version:
        return _version_rows(wanted).count()
    return AnnotationSet.objects.filter(author=wanted.author, state=AnnotationSet.State.SUBMITTED).count()


def _author_notes(author: Author | None) -> Iterator[tuple[int, OutNote, str]]:
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
        for pk, note, name, text in texts.values_list("pk", "document_id", "document__name", "document__text"):
            yield note, OutNote(name, text, spans[pk]), ""


def _version_rows(wanted: Wanted) -> "QuerySet[GoldVersionNote]":
    notes = GoldVersionNote.objects.filter(version=wanted.version).order_by("document_id")
    return notes.filter(split=wanted.split) if wanted.split not in ("", FOLDERS) else notes


def _version_notes(wanted: Wanted) -> Iterator[tuple[int, OutNote, str]]:
    """The notes of a version, each with its side of the split (empty: none)."""
    rows = _version_rows(wanted).values_list("document_id", "document__name", "document__text", "spans", "split")
    for pk, name, text, spans, side in rows.iterator(chunk_size=BATCH):
        yield pk, OutNote(name, text, [DomainSpan(start, end, code) for start, end, code, _ in spans]), side


def _report(project: Project, wanted: Wanted, format: str) -> ExportReport:
    if format not in FORMATS:
        raise ServiceError(
            gettext("unknown format %(format)s; there are: %(choices)s")
            % {"format": repr(format), "choices": ", ".join(FORMATS)},
            code="format",
        )
    report = ExportReport(set=wanted.spec, format=format)
    if wanted.version:
        report.gold_version, report.content_hash = wanted.version.number, wanted.version.content_hash
        if wanted.version.split_seed:
            report.split = {
                "seed": wanted.version.split_seed,
                "shares": wanted.version.split_shares,
                "layout": wanted.split or "together",
            }
    else:
        report.drafts_left_out = AnnotationSet.objects.filter(
            author=wanted.author, state=AnnotationSet.State.DRAFT
        ).count()
    if not _count(wanted):
        raise ServiceError(
            ngettext(
                "%(spec)s: no submitted readings to export (%(drafts)s draft)",
                "%(spec)s: no submitted readings to export (%(drafts)s drafts)",
                report.drafts_left_out,
            )
            % {"spec": wanted.spec, "drafts": report.drafts_left_out},
            code="empty",
        )
    return report


def _record(project: Project, wanted: Wanted, report: ExportReport, actor: User | None) -> None:
    """The event names the annotation sets by the kind and the id of their author: a run's name is anybody's words."""
    data = report.as_dict() | {"losses": len(report.losses), "set": wanted.spec}
    if wanted.author is not None:
        data |= {"set": wanted.author.kind, "author": wanted.author.pk}
    if wanted.version is not None and report.split is not None:
        data["split"] = {"shares": report.split["shares"], "layout": report.split["layout"]}
    record(verb=Verb.NOTES_EXPORTED, actor=actor, project_id=project.pk, data=data)


def export_to_path(
    *,
    project: Project,
    out: Path,
    format: str,
    set_spec: str,
    split: str = "",
    actor: User | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Write an export to a new or empty folder, or to a .zip. Written beside first: nothing half-written stays.

    Raises ServiceError; ErasedMeanwhile where a patient was erased while the notes were read.
    """
    begun = erasures_of(project.pk)
    wanted = wanted_set(project, set_spec, split)
    report = _report(project, wanted, format)
    if out.exists() and (out.suffix == ".zip" or not out.is_dir() or any(out.iterdir())):
        raise ServiceError(
            gettext("%(out)s exists and is not an empty folder; nothing was written") % {"out": out}, code="out"
        )
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    except OSError as error:
        raise ServiceError(
            gettext("%(out)s: can't write here (%(strerror)s); nothing was written")
            % {"out": out, "strerror": error.strerror},
            code="out",
        ) from error
    try:
        files = export_files(project, wanted, format, report, progress)
        if out.suffix == ".zip":
            written = beside / "part.zip"
            with written.open("wb") as target:
                _write_zip(target, files)
        else:
            written = beside / "notes"
            written.mkdir()
            _write_folder(written, files)
        with transaction.atomic():
            unerased(project.pk, begun)
            written.replace(out)
            _record(project, wanted, report, actor)
    except OSError as error:
        raise ServiceError(
            gettext("%(out)s: %(strerror)s; nothing was written") % {"out": out, "strerror": error.strerror}, code="out"
        ) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
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
    *, project_id: int, set_spec: str, format: str, actor_id: int | None, progress: Progress, split: str = ""
) -> dict[str, Any]:
    """An export as a job: a zip among the stored files. Returns the report with its `file_id`.

    Raises ServiceError; ErasedMeanwhile where a patient was erased while the notes were read.
    """
    begun = erasures_of(project_id)
    project = Project.objects.get(pk=project_id)
    actor = User.objects.filter(pk=actor_id).first() if actor_id else None
    wanted = wanted_set(project, set_spec, split)
    report = _report(project, wanted, format)
    side = f"-{split}" if split else ""
    name = f"{project.slug}-{set_spec.replace(':', '-')}{side}-{format}.zip"
    with tempfile.TemporaryFile() as content:
        _write_zip(content, export_files(project, wanted, format, report, progress))
        content.seek(0)
        with transaction.atomic():
            unerased(project.pk, begun)
            stored = store_file(project=project, kind=StoredFile.Kind.EXPORT, name=name, content=content, actor=actor)
            _record(project, wanted, report, actor)
    return report.as_dict() | {"file_id": stored.pk}
