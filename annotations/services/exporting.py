"""Taking annotation sets out: brat, CoNLL, text; with every loss named span by span."""

import json
import shutil
import tempfile
import zipfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext, ngettext

from annotations.domain.formats import FORMATS
from annotations.domain.formats.base import Loss, OutNote
from annotations.domain.labels import CategoryDef, LabelDef, LabelSetDef
from annotations.domain.numbers import MAX_OFFSET, whole
from annotations.domain.spans import Span as DomainSpan
from annotations.domain.splits import Side
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
from annotations.selectors.losses import named_losses
from annotations.services.erasures import erasures_of, unerased
from annotations.services.errors import ServiceError
from annotations.services.events import record
from annotations.services.progress import Progress, silent
from annotations.services.splitting import patients_on_two_sides
from annotations.services.staging import store_file

BATCH = 250
FOLDERS = "folders"
LAYOUTS = (FOLDERS, *map(str, Side))
"""How a split version can go out: a folder for each side, or one side alone."""


@dataclass(frozen=True)
class Wanted:
    """Which annotation sets: a frozen gold version, or an author's submitted readings.

    `split`, of a version: `folders` puts each note into the folder of its side; a side's name takes its notes alone.
    """

    spec: str
    author: Author | None = None
    version: GoldVersion | None = None
    split: str = ""


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


def wanted_set(project: Project, spec: str, split: str = "") -> Wanted:
    """`gold`, `gold:VERSION`, `annotator:NAME` or `run:NAME_OR_ID`. Raises ServiceError with the choices."""
    wanted = _wanted(project, spec)
    if not split:
        return wanted
    if split not in LAYOUTS:
        raise ServiceError(
            gettext("there is no split %(split)s; there are: %(choices)s")
            % {"split": repr(split), "choices": ", ".join(LAYOUTS)},
            code="split",
        )
    if wanted.version is None or not wanted.version.split_seed:
        raise ServiceError(
            gettext("%(spec)s is not split into train, dev and test: split a frozen version first") % {"spec": spec},
            code="split",
        )
    if patients_on_two_sides(wanted.version):
        raise ServiceError(
            gettext(
                "patient ids were changed after the split, and a patient stands on two sides now: "
                "split the version again"
            ),
            code="split",
        )
    return replace(wanted, split=split)


def _wanted(project: Project, spec: str) -> Wanted:
    kind, _, name = spec.partition(":")
    if kind == "gold" and name:
        number = whole(name, MAX_OFFSET)
        version = project.gold_versions.filter(number=number).first() if number is not None else None
        if version is None:
            numbers = ", ".join(str(v.number) for v in project.gold_versions.order_by("number")) or "none yet"
            raise ServiceError(
                gettext("there is no gold version %(name)s; frozen versions: %(numbers)s")
                % {"name": repr(name), "numbers": numbers},
                code="version",
            )
        return Wanted(spec, version=version)
    authors = Author.objects.filter(project=project, kind=kind)
    if kind in (Author.Kind.GOLD, Author.Kind.ADJUDICATED) and not name:
        author = authors.first()
    else:
        author = authors.filter(name=name).first()
        if author is None and kind == Author.Kind.RUN and (pk := whole(name)) is not None:
            author = authors.filter(pk=pk).first()
    if author is None:
        known = ", ".join(set_specs(project)) or "none yet"
        raise ServiceError(
            gettext("this project has no annotation sets %(spec)s; there are: %(known)s")
            % {"spec": repr(spec), "known": known},
            code="set",
        )
    return Wanted(spec, author=author)


def set_specs(project: Project, *, without: Collection[str] = ()) -> list[str]:
    """Every spec that `wanted_set` takes in this project; none of authors of the kinds `without`."""
    specs = []
    # A look into the index for each author, not a walk over all annotation sets.
    has_sets = Exists(AnnotationSet.objects.filter(author_id=OuterRef("pk")))
    for author in Author.objects.filter(has_sets, project=project):
        if author.kind in without:
            continue
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
