"""Export of annotation sets in a file format. Every span that the format can't hold is listed."""

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Final, Self

from django.db import transaction
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext

from annotations import models
from annotations.core.bulk import batched, in_batches
from annotations.core.services import Progress, ServiceError, erasures_of, silent, unerased
from annotations.core.spans import definitions, pairs_of
from annotations.core.stored_files import store_file
from annotations.exchange import selectors
from annotations.exchange.events import NOTES_EXPORTED, NotesExported
from annotations.exchange.rules import Relabeler, written_set
from annotations.exchange.services.label_mappings import ExportLabels
from annotations.exchange.services.writing import (
    Content,
    ExportOptions,
    NoteFilesWriter,
    write_to_path,
    write_zip,
    writers,
)
from annotations.formats import FORMATS
from annotations.formats.base import LOSSES, NAMES, file_names
from annotations.formats.files.csv_files import csv_line
from annotations.formats.notes import Loss, OutNote
from annotations.gold.selectors import span_of
from annotations.gold.services.splitting import FOLDERS, SetChoice, wanted_set
from annotations.notes.selectors.notes import PAGE
from annotations.text.labels import CategoryDef, LabelDef, LabelSetDef
from annotations.text.spans import Span as DomainSpan

BATCH = 250
# The report is stored with the job and lists at most this many losses. The file LOSSES of the export lists all.
LISTED: Final = 1000
# Above this many bytes, the list of losses moves from memory to disk.
IN_MEMORY: Final = 1024 * 1024

LOSS_COLUMNS: Final = ("note", "note_id", "start", "end", "label", "reason")


@dataclass
class ExportReport:
    """Report of an export. `loss_count` spans could not be written in the format.

    `losses` lists the first LISTED of these spans with note id, offsets, label and reason. `options` has the chosen
    options (see `ExportOptions`). `chosen_notes` is the number of notes that were asked for, if not all were. If labels
    were written in another way than in the project, `labels` has the name of the label mapping, if any, and the counts
    of `Relabeler`.
    """

    set: str
    format: str
    notes: int = 0
    spans: int = 0
    drafts_left_out: int = 0
    gold_version: int | None = None
    content_hash: str | None = None
    split: dict[str, Any] | None = None
    loss_count: int = 0
    losses: list[dict[str, Any]] = field(default_factory=list)
    chosen_notes: int | None = None
    options: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, Any] | None = None

    def add(self, note: int, losses: list[Loss]) -> None:
        """Add the spans of one note that the format can't hold."""
        self.loss_count += len(losses)
        for loss in losses[: max(0, LISTED - len(self.losses))]:
            span = loss.span
            about = {"start": span.start, "end": span.end, "label": span.label, "reason": loss.reason}
            self.losses.append({"note": note, **about})

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


def label_definitions(project: models.Project, *, merged: bool = False) -> LabelSetDef:
    """Label set of the project, for format writers. With `merged`, includes merged labels that frozen gold may use."""
    categories = []
    for category in models.Category.objects.filter(label_set__project=project).prefetch_related("labels"):
        labels = tuple(
            LabelDef(
                code=label.code,
                name=label.name,
                hotkey=label.hotkey,
                description=label.description,
                placeholder=label.placeholder,
                attributes=definitions(label),
            )
            for label in category.labels.all()
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
    project: models.Project,
    wanted: SetChoice,
    format: str,
    report: ExportReport,
    progress: Progress = silent,
    labels: ExportLabels | None = None,
) -> Iterator[tuple[str, Content]]:
    """Yield every file of an export as (relative name, content), with the options of the report.

    `report` is complete after the last file.

    Large content is an open file, which the caller must read before asking for the next file.
    """
    with tempfile.SpooledTemporaryFile(IN_MEMORY) as all_losses:
        yield from _note_files(project, wanted, format, report, progress, labels or ExportLabels(), all_losses)
        if report.loss_count:
            all_losses.seek(0)
            yield LOSSES, all_losses


def _note_files(
    project: models.Project,
    wanted: SetChoice,
    format: str,
    report: ExportReport,
    progress: Progress,
    labels: ExportLabels,
    all_losses: IO[bytes],
) -> Iterator[tuple[str, Content]]:
    codes = labels.by_code(project)
    written = {label: code for label, code in codes.items() if code}
    relabeler = Relabeler(codes) if labels.differ else None
    notes = _version_notes(wanted) if wanted.version else _author_notes(wanted)
    splits: dict[str, str] = {}
    names = file_names(FORMATS[format])
    total = selectors.notes_to_export(wanted)
    progress(0, total)
    writing = ExportOptions(**report.options)
    tags = selectors.layers_of(project).get(writing.layer, {})
    with NoteFilesWriter(writers(format, writing, tags), written) as writer:
        for pk, whole, split, language in notes:
            note, merged_losses = relabeler.note(whole) if relabeler else (whole, [])
            folder = f"{split}/" if split and wanted.split == FOLDERS else ""
            named = replace(note, name=names.of(note.name, folder)) if names else note
            files, losses = writer.add(named, folder=folder, language=language or project.language)
            losses = merged_losses + losses
            yield from files.items()
            if split:
                splits[note.name] = split
            report.notes += 1
            report.spans += len(list(note.spans))
            if losses and not report.loss_count:
                # Spreadsheet programs recognize UTF-8 in a CSV only with a byte order mark.
                all_losses.write(("\ufeff" + csv_line(LOSS_COLUMNS)).encode())
            for loss in losses:
                span = loss.span
                all_losses.write(csv_line([note.name, pk, span.start, span.end, span.label, loss.reason]).encode())
            report.add(pk, losses)
            if report.notes % BATCH == 0 or report.notes == total:
                progress(report.notes, total)
        yield from writer.finish()
    if relabeler:
        counts = {"written": dict(relabeler.written), "left_out": dict(relabeler.left_out), "merged": relabeler.merged}
        report.labels = {"mapping": labels.name, **counts}
    if names and names.changed:
        yield NAMES, names.table()
    definitions = label_definitions(project, merged=wanted.version is not None)
    if labels.differ:
        definitions = written_set(definitions, codes, selectors.target_of(labels.target))
    yield from writers(format, ExportOptions(layer=writing.layer), tags)("").extra_files(definitions).items()
    author = wanted.author or models.Author.objects.filter(project=project, kind=models.AuthorKind.GOLD).first()
    imported = author is not None and author.pk in project.imported_authors
    manifest = report.as_dict() | {
        "project": project.slug,
        "imported": imported,
        "losses": selectors.named_losses(project, report.losses),
    }
    if report.split is not None:
        manifest["split"] = report.split | {"notes": splits}
    yield "export.json", json.dumps(manifest, indent=1, ensure_ascii=False).encode()


def _author_notes(wanted: SetChoice) -> Iterator[tuple[int, OutNote, str, str]]:
    """Notes of an author as (note id, note, "", language)."""
    sets = list(selectors.sets_of(wanted).order_by("document_id").values_list("pk", flat=True))
    for batch in batched(sets, BATCH):
        spans: dict[int, list[DomainSpan]] = {pk: [] for pk in batch}
        rows = (
            models.Span.objects.filter(annotation_set__in=batch)
            .order_by("start", "end", "label__position")
            .values_list("annotation_set_id", "start", "end", "label__code", "attributes")
        )
        for pk, start, end, code, attributes in rows:
            spans[pk].append(DomainSpan(start, end, code, attributes=pairs_of(attributes)))
        texts = models.AnnotationSet.objects.filter(pk__in=batch).order_by("document_id")
        columns = ("pk", "document_id", "document__name", "document__text", "document__language")
        for pk, note, name, text, language in texts.values_list(*columns):
            yield note, OutNote(name, text, spans[pk]), "", language


def _version_notes(wanted: SetChoice) -> Iterator[tuple[int, OutNote, str, str]]:
    """Notes of a gold version as (note id, note, split, language). The split is empty if the version has none."""
    columns = ("document_id", "document__name", "document__text", "document__language", "spans", "split")
    # No cursor stays open: one of a canceled export could be closed in the midst of another query, which then hangs.
    for batch in in_batches(selectors.notes_of_version(wanted).values_list(*columns), BATCH, by="document_id"):
        for pk, name, text, language, spans, split in batch:
            yield pk, OutNote(name, text, list(map(span_of, spans))), split, language


@dataclass(frozen=True)
class ExportOrder:
    """What to export (see `wanted_set`), in which format, and how. With `notes`, only these notes, by their ids."""

    set_spec: str
    format: str
    split: str = ""
    writing: ExportOptions = field(default_factory=ExportOptions)
    labels: ExportLabels = field(default_factory=ExportLabels)
    notes: tuple[int, ...] = ()

    def as_params(self) -> dict[str, Any]:
        """As JSON, for the parameters of a job."""
        params: dict[str, Any] = {"set": self.set_spec, "format": self.format, "split": self.split}
        params |= {"options": self.writing.chosen()} if self.writing.chosen() else {}
        params |= {"notes": list(self.notes)} if self.notes else {}
        return params | ({"labels": self.labels.as_params()} if self.labels.differ else {})

    @classmethod
    def from_params(cls, params: dict[str, Any]) -> Self:
        labels, writing = ExportLabels.from_params(params.get("labels", {})), ExportOptions(**params.get("options", {}))
        notes = tuple(params.get("notes", ()))
        return cls(str(params["set"]), str(params["format"]), str(params.get("split", "")), writing, labels, notes)

    def check(self, project: models.Project) -> SetChoice:
        """The annotation sets. Raises ServiceError if they don't exist, or can't be written so."""
        self.writing.check(self.format)
        wanted = wanted_set(project, self.set_spec, self.split)
        if self.labels.differ:
            self.labels.by_code(project)
        return self._only_chosen(project, wanted) if self.notes else wanted

    def _only_chosen(self, project: models.Project, wanted: SetChoice) -> SetChoice:
        if len(self.notes) > PAGE:
            message = gettext("An export of chosen notes holds at most %(most)d. Choose fewer, or export all.")
            raise ServiceError(message % {"most": PAGE}, code="notes")
        chosen = set(self.notes)
        if models.Document.objects.filter(project=project, pk__in=chosen).count() < len(chosen):
            message = gettext("A chosen note is not in this project; perhaps somebody deleted it. Choose again.")
            raise ServiceError(message, code="notes")
        wanted = replace(wanted, notes=self.notes)
        if not selectors.notes_to_export(wanted):
            message = gettext("“%(spec)s” has none of the chosen notes. Choose other annotations or other notes.")
            raise ServiceError(message % {"spec": wanted.spec}, code="notes")
        return wanted


def _report(wanted: SetChoice, order: ExportOrder) -> ExportReport:
    report = ExportReport(set=wanted.spec, format=order.format, options=order.writing.chosen())
    report.chosen_notes = len(set(order.notes)) or None
    if wanted.version:
        report.gold_version, report.content_hash = wanted.version.number, wanted.version.content_hash
        if wanted.version.split_seed:
            report.split = {
                "seed": wanted.version.split_seed,
                "shares": wanted.version.split_shares,
                "layout": wanted.split or "together",
            }
    else:
        report.drafts_left_out = selectors.sets_of(wanted, models.AnnotationSetState.DRAFT).count()
    if not selectors.notes_to_export(wanted):
        message = gettext("“%(spec)s” has no submitted annotation sets to export. Drafts: %(drafts)s.")
        raise ServiceError(message % {"spec": wanted.spec, "drafts": report.drafts_left_out}, code="empty")
    return report


def _record(
    project: models.Project, wanted: SetChoice, report: ExportReport, labels: ExportLabels, actor: models.User | None
) -> None:
    """Record the export, and the first one at the project.

    The event holds the author's kind and id, since a run's name is free text.
    """
    split = report.split
    data: NotesExported = {
        "set": wanted.spec,
        "format": report.format,
        "notes": report.notes,
        "spans": report.spans,
        "drafts_left_out": report.drafts_left_out,
        "gold_version": report.gold_version,
        "content_hash": report.content_hash,
        # The seed of the split is free text, so the event doesn't hold it.
        "split": {"shares": split["shares"], "layout": split["layout"]} if split else None,
        "losses": report.loss_count,
    }
    if report.chosen_notes:
        data["chosen_notes"] = report.chosen_notes
    if wanted.author is not None:
        data |= {"set": wanted.author.kind, "author": wanted.author.pk}
    if report.labels is not None:
        left_out = sum(report.labels["left_out"].values())
        data |= {"mapping": labels.mapping, "left_out": left_out, "merged": report.labels["merged"]}
    NOTES_EXPORTED.record(actor=actor, project_id=project.pk, data=data)
    models.Project.objects.filter(pk=project.pk, exported_at=None).update(exported_at=timezone.now())


def export_to_path(
    *, project: models.Project, out: Path, actor: models.User | None = None, progress: Progress = silent, **asked: Any
) -> dict[str, Any]:
    """Write an export to a new or empty folder, or to a .zip, and return the report. `asked`: see `ExportOrder`.

    The files are written to a temporary folder first, so that no partial export remains.
    Raises ServiceError; ErasedMeanwhile if a patient was erased while the notes were read.
    """
    begun, order = erasures_of(project.pk), ExportOrder(**asked)
    wanted = order.check(project)
    report = _report(wanted, order)

    def finish(place: Callable[[], object]) -> None:
        with transaction.atomic():
            unerased(project.pk, begun)
            place()
            _record(project, wanted, report, order.labels, actor)

    write_to_path(out, export_files(project, wanted, order.format, report, progress, order.labels), finish)
    return report.as_dict()


def run_export(*, project_id: int, actor_id: int | None, progress: Progress, **asked: Any) -> dict[str, Any]:
    """Write an export as a stored zip file and return the report with its `file_id`. `asked`: see `ExportOrder`.

    Raises ServiceError; ErasedMeanwhile if a patient was erased while the notes were read.
    """
    begun, order = erasures_of(project_id), ExportOrder(**asked)
    project = models.Project.objects.get(pk=project_id)
    actor = models.User.objects.filter(pk=actor_id).first() if actor_id else None
    wanted, labels = order.check(project), order.labels
    report = _report(wanted, order)
    mapped = (slugify(labels.name) or "mapped") if labels.differ else ""
    chosen = f"{report.chosen_notes}-chosen" if report.chosen_notes else ""
    suffix = "".join(f"-{word}" for word in [order.split, chosen, mapped, *order.writing.words()] if word)
    name = f"{project.slug}-{wanted.spec.replace(':', '-')}{suffix}-{order.format}.zip"
    with tempfile.TemporaryFile() as content:
        write_zip(content, export_files(project, wanted, order.format, report, progress, labels))
        content.seek(0)
        with transaction.atomic():
            unerased(project.pk, begun)
            stored = store_file(
                project=project, kind=models.StoredFileKind.EXPORT, name=name, content=content, actor=actor
            )
            _record(project, wanted, report, labels, actor)
    return report.as_dict() | {"file_id": stored.pk}
