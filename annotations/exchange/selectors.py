"""Imports for pages and reports."""

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from posixpath import splitext
from typing import Any

from django.conf import settings
from django.db.models import CharField, Count, F, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Cast, Concat
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations import models
from annotations.core.access import Access, Can, note_for
from annotations.core.labels import label_rows
from annotations.core.services import NOTE_DELETED, PATIENT_ERASED, ServiceError
from annotations.exchange.rules import likely_labels
from annotations.formats.base import LabelFinder
from annotations.formats.documents.programs import PDFTOPPM
from annotations.formats.uima import NAMED_ENTITY
from annotations.gold.selectors import of_kind
from annotations.gold.services.splitting import FOLDERS, SetChoice
from annotations.projects.selectors.labels import mappings, shipped_set
from annotations.text.labels import LabelSetDef
from annotations.text.names import printable, whole_number

# The key of an import's job begins with it and ends with the id of the import.
JOB_KEY = "import-"


def imports_of(project: models.Project) -> QuerySet[models.Import]:
    """Imports of a project, newest first, with the counts of each report but not its lines.

    `job_number` is None where no job was started: before the start, after a discarded upload, and for commands.
    """
    key = Concat(Value(JOB_KEY), Cast(OuterRef("pk"), CharField()))
    job = models.Job.objects.filter(project=project, key=key).values("number")
    counts = {f"{name}_count": F(f"report__{name}") for name in ("notes", "spans", "refused_notes", "refused_files")}
    return (
        models.Import.objects.filter(project=project)
        .select_related("created_by", "stored_file")
        .defer("report")
        .annotate(**counts, job_number=Subquery(job))
        .order_by("-id")
    )


def label_groups(project: models.Project) -> list[tuple[models.Category, list[models.Label]]]:
    """The categories of a project, each with its labels."""
    labels: dict[int, list[models.Label]] = {}
    for label in label_rows(project.pk):
        labels.setdefault(label.category_id, []).append(label)
    return [(one, labels.get(one.pk, [])) for one in models.Category.objects.filter(label_set__project=project)]


def label_lines(report: dict[str, Any]) -> list[dict[str, Any]]:
    """What an import did with each label that the project didn't have, with its name in the files."""
    return [{"name": name, **line} for name, line in report.get("labels", {}).items()]


def report_lines(report: dict[str, Any]) -> Iterator[list[str]]:
    """Rows of a report, with a header: outcome, file, line, code, reason."""
    yield ["outcome", "file", "line", "code", "reason"]
    for label in label_lines(report):
        target = f" as {label['label']}" if label["label"] else ""
        yield [f"label {label['do']}", "", "", "label", f"“{label['name']}”{target}: {label['spans']} spans"]
    for outcome, key in (("refused", "refused"), ("imported with a warning", "warnings")):
        for problem in report.get(key, []):
            line = "" if problem["line"] is None else str(problem["line"])
            also = f" (and {problem['also']} more)" if problem.get("also") else ""
            yield [outcome, problem["file"] + also, line, problem["code"], problem["message"]]
        if more := report.get(f"{key}_more", 0):
            yield [outcome, "", "", "more", f"{more} more problems are not listed."]


def layers_of(project: models.Project) -> dict[str, dict[str, str]]:
    """The UIMA layers (`TYPE:FEATURE`) that spans of the project were imported from, with the tags that are not codes.

    Tags are by the code of their label. Of several for one label, that of the latest import counts, there first the one
    that is its code. Named entities are among the layers only if they have such tags.
    """
    done = models.Import.objects.filter(project=project, state=models.ImportState.DONE).order_by("pk")
    found: dict[str, dict[str, str]] = {}
    for layers, labels in done.values_list("report__layers", "report__labels"):
        for layer in layers or ():
            # Reports of earlier versions list the layers without tags.
            tags = layers[layer] if isinstance(layers, dict) else {}
            codes = {tag: labels[name]["label"] if labels and name in labels else name for name, tag in tags.items()}
            ordered = sorted(codes, key=lambda tag: (tag == codes[tag], tag))
            found[layer] = found.get(layer, {}) | {codes[tag]: tag for tag in ordered if codes[tag]}
    kept = {layer: {code: tag for code, tag in found[layer].items() if code != tag} for layer in sorted(found)}
    return {layer: tags for layer, tags in kept.items() if tags or not layer.startswith(f"{NAMED_ENTITY}:")}


# Exported files that are ready to download.


def ready_files(project: models.Project, *, without: Iterable[str] = ()) -> list[models.StoredFile]:
    """Exports that have not expired, newest first, without annotation sets by authors of the kinds `without`."""
    files = models.StoredFile.objects.filter(
        project=project, kind=models.StoredFileKind.EXPORT, expires_at__gt=timezone.now()
    )
    for kind in without:
        files = files.exclude(name__startswith=of_kind(project, kind))
    return list(files.select_related("created_by").order_by("-pk")[:100])


def file_for(access: Access, pk: int) -> models.StoredFile | None:
    """An export, or the export of a release, that this person may download; None once it has expired."""
    # A released text beside the one that an auditor reads would show which leaks are planted.
    kinds = [models.StoredFileKind.EXPORT, *([models.StoredFileKind.RELEASE] if access.has(Can.RELEASE) else [])]
    stored = models.StoredFile.objects.filter(project=access.project, kind__in=kinds, pk=pk).first()
    closed = tuple(of_kind(access.project, kind) for kind in access.closed_kinds)
    if stored is None or stored.name.startswith(closed):
        return None
    return None if stored.expires_at and stored.expires_at <= timezone.now() else stored


def original_of(access: Access, note: int) -> models.StoredFile:
    """The document from which a note was extracted. Raises Http404 if there is none."""
    source = models.DocumentSource.objects.select_related("original").filter(document=note_for(access, note)).first()
    if source is None or source.original is None:
        raise Http404("This note has no original document.")
    return source.original


# The reason why an exported file is no longer available.


def why_deleted(project: models.Project, file_id: int) -> str:
    """Reason why a file is no longer available, as sentences; empty if it is."""
    kinds = [models.StoredFileKind.EXPORT, models.StoredFileKind.RELEASE]
    held = models.StoredFile.objects.filter(project=project, kind__in=kinds, pk=file_id).first()
    if held is not None and held.expires_at and held.expires_at > timezone.now():
        return ""
    if held is None and (reason := why_withdrawn(project, file_id)):
        return reason
    if held is None and deleted_with_patient(project, file_id):
        return _(
            "This file was deleted because a patient was erased or a note deleted: it may have contained those notes. "
            "Start the export again."
        )
    return _("Exports are kept for a limited time, and this file has expired. Start the export again.")


def why_withdrawn(project: models.Project, file_id: int) -> str:
    """Why the export of a withdrawn release is gone; empty for other files."""
    job = (
        models.Job.objects.filter(project=project, kind="release_export", result__file_id=file_id)
        .only("params")
        .first()
    )
    release = models.Release.objects.filter(project=project, pk=job.params.get("release_id")).first() if job else None
    if release is None or release.state != models.ReleaseState.WITHDRAWN:
        return ""
    return _("Release %(number)d was withdrawn. Its exports were deleted, and it can't be exported again.") % {
        "number": release.number
    }


def deleted_with_patient(project: models.Project, file_id: int) -> bool:
    """Whether a patient was erased or a note deleted while the file existed. Both delete all exports of the project."""
    job = models.Job.objects.filter(project=project, result__file_id=file_id).only("finished_at").first()
    if job is None or job.finished_at is None:
        return False
    until = job.finished_at + timedelta(hours=settings.STORED_FILE_HOURS)
    erased = models.Event.objects.filter(project_id=project.pk, verb__in=[PATIENT_ERASED, NOTE_DELETED])
    return erased.filter(at__gte=job.finished_at, at__lt=until).exists()


# Label mappings for pages: their rows with suggestions, and the project's labels that stand behind written codes.


@dataclass(frozen=True)
class MappingRow:
    """A label of the project: its spans in the gold standard, and how it is written.

    `code` is None for a label without a choice, and empty if its spans are left out. `suggestion` may be empty.
    """

    label: models.Label
    spans: int
    code: str | None
    suggestion: str


def mappings_of(project: models.Project) -> list[models.LabelMapping]:
    return list(models.LabelMapping.objects.filter(project=project))


def mapping_named(project: models.Project, name: str) -> models.LabelMapping:
    """The mapping with this name. Raises ServiceError with the names that exist."""
    found = models.LabelMapping.objects.filter(project=project, name=name).first()
    if found is None:
        names = ", ".join(f"“{one.name}”" for one in mappings_of(project)) or _("none")
        message = _("There is no label mapping “%(name)s”. Label mappings of this project: %(names)s.")
        raise ServiceError(message % {"name": printable(name), "names": names}, code="mapping")
    return found


def mapping_of(access: Access, pk: int) -> models.LabelMapping:
    """The mapping of the person's project. Raises Http404."""
    return get_object_or_404(models.LabelMapping.objects.select_related("project"), project=access.project, pk=pk)


def import_of(access: Access, pk: int) -> models.Import:
    """The import of the person's project. Raises Http404."""
    rows = models.Import.objects.select_related("project", "stored_file", "created_by")
    return get_object_or_404(rows, project=access.project, pk=pk)


def mapping_by_id(project: models.Project, given: str) -> models.LabelMapping:
    """The mapping whose id a form sends. Raises ServiceError if it doesn't exist."""
    pk = whole_number(given)
    found = models.LabelMapping.objects.filter(project=project, pk=pk).first() if pk is not None else None
    if found is None:
        message = _("This project has no such label mapping; perhaps somebody deleted it. Choose from the list.")
        raise ServiceError(message, code="mapping")
    return found


def target_of(key: str) -> LabelSetDef | None:
    """The shipped label set with this key. None for an empty key, or a set that is no longer shipped."""
    try:
        return shipped_set(key) if key else None
    except FileNotFoundError:
        return None


def codes_of(mapping: models.LabelMapping) -> dict[int, str]:
    """The written codes by label id. An empty code leaves the spans of the label out."""
    return dict(mapping.rows.order_by("label_id").values_list("label_id", "code"))


def mapping_rows(mapping: models.LabelMapping) -> list[MappingRow]:
    """Every label of the project, in its order."""
    codes = codes_of(mapping)
    spans = gold_spans(mapping.project)
    labels = list(label_rows(mapping.project_id).select_related("category"))
    suggested = suggested_codes(mapping.project, labels, mapping.target)
    return [
        MappingRow(label, spans.get(label.pk, 0), codes.get(label.pk), suggested.get(label.pk, "")) for label in labels
    ]


def open_labels(mapping: models.LabelMapping) -> list[models.Label]:
    """The labels of the project that the mapping doesn't contain."""
    codes = codes_of(mapping)
    return [label for label in label_rows(mapping.project_id) if label.pk not in codes]


def open_counts(project: models.Project) -> dict[int, int]:
    """The number of labels that each mapping doesn't contain, by the id of the mapping."""
    total = label_rows(project.pk).count()
    mapped = models.LabelMapping.objects.filter(project=project).order_by().annotate(mapped=Count("rows"))
    return {pk: total - count for pk, count in mapped.values_list("pk", "mapped")}


def seen_of(mapping: models.LabelMapping) -> str:
    """A digest of what the form of a mapping shows, to notice that somebody else changed the mapping or the labels."""
    content = [mapping.name, sorted(codes_of(mapping).items()), [label.pk for label in label_rows(mapping.project_id)]]
    return sha256(json.dumps(content).encode()).hexdigest()[:16]


def gold_spans(project: models.Project) -> dict[int, int]:
    """The number of spans in the gold standard by label id."""
    spans = models.Span.objects.filter(
        annotation_set__author__project=project, annotation_set__author__kind=models.AuthorKind.GOLD
    )
    return dict(spans.order_by().values_list("label").annotate(count=Count("pk")))


def sets_of(wanted: SetChoice, state: str = models.AnnotationSetState.SUBMITTED) -> QuerySet[models.AnnotationSet]:
    """The annotation sets of an author in this state. Exports hold the submitted ones."""
    sets = models.AnnotationSet.objects.filter(author=wanted.author, state=state)
    return sets.filter(document__in=wanted.notes) if wanted.notes else sets


def notes_of_version(wanted: SetChoice) -> QuerySet[models.GoldVersionNote]:
    """The notes of a gold version, or of one split of it, that are to be exported."""
    notes = models.GoldVersionNote.objects.filter(version=wanted.version).order_by("document_id")
    notes = notes.filter(document__in=wanted.notes) if wanted.notes else notes
    return notes.filter(split=wanted.split) if wanted.split not in ("", FOLDERS) else notes


def notes_to_export(wanted: SetChoice) -> int:
    """The number of notes to export."""
    return (notes_of_version(wanted) if wanted.version else sets_of(wanted)).count()


def spans_by_label(wanted: SetChoice) -> Counter[str]:
    """The number of spans of the annotation sets to export, by the code of their label."""
    found: Counter[str] = Counter()
    if wanted.version is None:
        spans = models.Span.objects.filter(annotation_set__in=sets_of(wanted))
        found.update(dict(spans.order_by().values_list("label__code").annotate(count=Count("pk"))))
        return found
    for rows in notes_of_version(wanted).values_list("spans", flat=True).iterator(chunk_size=500):
        found.update(row[2] for row in rows)
    return found


def suggested_codes(project: models.Project, labels: Sequence[models.Label], target: str) -> dict[int, str]:
    """What each label probably means in the shipped set `target`: by a shipped mapping, its code or name, or alike.

    Without a target, each label has its own code.
    """
    label_set = target_of(target)
    if label_set is None:
        return {} if target else {label.pk: label.code for label in labels}
    accepted = label_set.accepted()
    codes = {label.code for label in label_set.labels()}
    find = LabelFinder(accepted)
    shipped = mappings().get((project.label_set.key, target))
    found = {}
    for label in labels:
        by_mapping = (shipped.labels.get(label.code) or "") if shipped and not shipped.to_category else ""
        likely = [*likely_labels(label.name, accepted), *likely_labels(label.code, accepted)]
        code = by_mapping or find(label.code) or find(label.name) or next(iter(likely), "")
        if code in codes:
            found[label.pk] = code
    return found


def labels_behind(mapping: models.LabelMapping) -> Mapping[str, list[int]]:
    """Ids of the labels that are written as each code, by the code and by its name in the target set, in lower case."""
    target = target_of(mapping.target)
    names = {label.code: label.name for label in target.labels()} if target else {}
    found: dict[str, list[int]] = {}
    for pk, code in codes_of(mapping).items():
        for name in {code.casefold(), names.get(code, code).casefold()} - {""}:
            found.setdefault(name, []).append(pk)
    return found


# Spans that an export's format could not hold, with the current names of their notes.


def named_losses(project: models.Project, losses: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Copies of the losses, with the note's id moved from `note` to `note_id` and its name in `note`."""
    ids = {loss["note"] for loss in losses}
    rows = models.Document.objects.filter(project=project, pk__in=ids).order_by()
    names = dict(rows.values_list("pk", "name"))
    return [loss | {"note": names.get(loss["note"]) or _("erased note"), "note_id": loss["note"]} for loss in losses]


# Where in its document the text of a note comes from, for pages that show the note.


IMAGES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}
"""Media types of pictures that browsers show, by ending."""
_PAGE = re.compile(r"page ([1-9][0-9]{0,5})$")

Place = tuple[int, int, str, str]
"""Start and end of a part in the note's text (code points, end-exclusive), its name, and the address of its page.

The address is empty where no picture of the page can be shown.
"""


def places_in(slug: str, note: models.Document) -> list[Place]:
    """The source map of a note; empty for a note that was not extracted from a document."""
    source: models.DocumentSource | None = getattr(note, "source", None)
    return [] if source is None else places_of(slug, source)


def places_of(slug: str, source: models.DocumentSource) -> list[Place]:
    """The source map of a note."""
    # One reversed address gives those of all pages: reversing each is slow.
    before = reverse("source_page", args=[slug, source.pk, 0]).removesuffix("0") if has_pages(source) else ""
    return [(start, end, name, _address(before, name)) for start, end, name in source.places]


def has_pages(source: models.DocumentSource) -> bool:
    """Whether this server can show the pages of the original, which is a picture or a PDF."""
    ending = splitext(source.name)[1].lower()
    if source.original_id is None:
        return False
    return ending in IMAGES if source.kind == "image" else ending == ".pdf" and shutil.which(PDFTOPPM) is not None


def pages_of(note: int) -> tuple[models.DocumentSource, models.StoredFile] | None:
    """The source of a note and its original, if the server can show pages of it."""
    source = models.DocumentSource.objects.filter(document_id=note).select_related("original").first()
    if source is None or source.original is None or not has_pages(source):
        return None
    return source, source.original


def _address(before: str, name: str) -> str:
    page = _PAGE.search(name)
    return f"{before}{page[1]}" if before and page else ""
