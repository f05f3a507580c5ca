"""Pages of exports and of label mappings: the forms, the files that are ready, and the start of imports and exports."""

import shutil
import tempfile
import uuid
from collections.abc import Iterable
from functools import partial
from posixpath import splitext
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from annotations.core.access import Access, Can, closed_to, note_for, require
from annotations.core.answers import attachment
from annotations.core.forms import add_error, attempted
from annotations.core.requests import FORM, Request, in_project, numbers, ticked
from annotations.core.services import NOTE_READ, ServiceError
from annotations.core.stored_files import open_stored
from annotations.exchange import selectors
from annotations.exchange.events import LABEL_MAPPING_DELETED
from annotations.exchange.forms.exports import ABOUT, ExportForm, MappingForm, NewMappingForm, set_choices
from annotations.exchange.services import label_mappings as mapping_services
from annotations.exchange.services.exporting import ExportOrder
from annotations.exchange.services.staged import import_job, start_export, start_import, unknown_set
from annotations.exchange.services.writing import ExportOptions
from annotations.exchange.views.imports import save_choices
from annotations.formats import FORMATS
from annotations.formats.documents.base import Limits
from annotations.formats.documents.extracting import Extractor
from annotations.formats.notes import NoteError
from annotations.jobs.api import form_token
from annotations.models import Document, LabelMapping, StoredFile
from annotations.projects.services.assigning import annotators_of
from annotations.projects.services.projects import shipped_label_sets

# What the export form asks for, and the answer if the export can't be had.


def asked_export(request: Request, access: Access) -> tuple[ExportOrder, LabelMapping | None]:
    """Read POST `set`, `format`, `split`, `labels` (a mapping), `seen` (of it), `notes`, and `ExportOptions`.

    Raises PermissionDenied for annotation sets that are closed to the person; ServiceError for a format or mapping
    that doesn't exist, and `changed` for a mapping that was changed since the person saw it.
    """
    posted = request.POST
    if closed_to(access, spec=posted.get("set", "")):
        raise PermissionDenied("You may not export these annotation sets.")
    mapping = selectors.mapping_by_id(access.project, posted["labels"]) if posted.get("labels") else None
    seen = posted.get("seen", "")
    if mapping and seen and seen != selectors.seen_of(mapping):
        message = _("Somebody changed the label mapping or the labels since the preview. Check the preview again.")
        raise ServiceError(message, code="changed")
    writing = ExportOptions(
        "sentences" in posted, "spaced" in posted, posted.get("tokenizer", ""), posted.get("layer", "")
    )
    writing.check(posted.get("format", ""))
    labels = mapping_services.labels_of_mapping(mapping) if mapping else mapping_services.ExportLabels()
    spec, format, split = (posted.get(name, "") for name in ("set", "format", "split"))
    return ExportOrder(spec, format, split, writing, labels, tuple(ticked(request))), mapping


@in_project(Can.EXPORT, "POST")
def notes_export(request: Request, access: Access) -> HttpResponse:
    """Go to the export form of the ticked notes."""
    if notes := ticked(request):
        return redirect(_form_of(access.slug, notes))
    messages.error(request, _("No note is ticked. Tick the notes to export."))
    return redirect("notes", access.slug)


def _form_of(slug: str, notes: Iterable[int]) -> str:
    """The address of the export form of these notes; of all, without any."""
    only = ",".join(map(str, notes))
    return reverse("export", args=[slug]) + (f"?notes={only}" if only else "")


def refuse_export(request: Request, slug: str, error: ServiceError) -> HttpResponse:
    """Go to the page where the error can be corrected: that of a label mapping, or the export form."""
    messages.error(request, str(unknown_set() if error.code == "set" else error))
    if error.code == "unmapped":
        return redirect("label_mapping", slug, int(request.POST["labels"]))
    return redirect(_form_of(slug, ticked(request)))


@in_project(Can.EXPORT)
def export(request: Request, access: Access) -> HttpResponse:
    """The export form; ?set=, ?format= and ?labels= (the id of a label mapping) preselect; ?notes= has ids of notes."""
    sets = set_choices(access.project, without=access.closed_kinds)
    specs = [choice.spec for choice in sets]
    wanted = {"set": request.GET.get("set", ""), "format": request.GET.get("format", "")}
    mappings = selectors.mappings_of(access.project)
    chosen = request.GET.get("labels", "")
    initial = {
        "labels": chosen if chosen in [str(one.pk) for one in mappings] else "",
        "set": wanted["set"] if wanted["set"] in specs else next(iter(specs), ""),
        "format": wanted["format"] if wanted["format"] in FORMATS else next(iter(FORMATS)),
        "token": uuid.uuid4(),
    }
    only = numbers(request.GET.get("notes", "").split(","))
    context = {
        "only": Document.objects.filter(project=access.project, pk__in=only).order_by("pk").only("pk", "name"),
        "form": ExportForm(initial=initial, sets=sets, mappings=mappings, layers=selectors.layers_of(access.project)),
        "formats": ABOUT.values(),
        "sets": sets,
        "has_split": any(choice.is_split for choice in sets),
        "files": selectors.ready_files(access.project, without=access.closed_kinds),
        "hours": settings.STORED_FILE_HOURS,
    }
    return render(request, "exchange/export.html", context)


@in_project(Can.EXPORT, "POST")
def export_preview(request: Request, access: Access) -> HttpResponse:
    """The number of spans by written label, before an export starts. POST the export form."""
    try:
        order, mapping = asked_export(request, access)
        wanted = order.check(access.project)
        lines = mapping_services.written_lines(access.project, selectors.spans_by_label(wanted), order.labels)
    except ServiceError as error:
        return refuse_export(request, access.slug, error)
    names = {choice.spec: choice.name for choice in set_choices(access.project, without=access.closed_kinds)}
    context = {
        "asked": order,
        "only": ",".join(map(str, order.notes)),
        "mapping": mapping,
        "set_name": names.get(order.set_spec, order.set_spec),
        "format": ABOUT[order.format].title,
        "lines": lines,
        "merging": any(line.code and len(line.labels) > 1 for line in lines),
        "total": sum(line.spans for line in lines if line.code),
        "sent": [
            (name, value)
            for name, values in request.POST.lists()
            for value in values
            if name not in ("csrfmiddlewaretoken", "seen")
        ],
        "seen": selectors.seen_of(mapping) if mapping else "",
    }
    return render(request, "exchange/export_preview.html", context)


# Starting imports and exports, and the way from an import to its job.


@in_project(Can.MANAGE)
def job_of_import(request: Request, access: Access, pk: int) -> HttpResponse:
    """Redirect from an import to its job; 404 if it has no job."""
    job = import_job(project=access.project, import_id=pk)
    if job is None:
        raise Http404("This import has no job.")
    return redirect("job", access.slug, job.number)


@in_project(Can.MANAGE, "POST")
def job_start_import(request: Request, access: Access, pk: int) -> HttpResponse:
    """Save the author and the labels as chosen, and start the import. In a project without people, these come next."""
    row = selectors.import_of(access, pk)
    try:
        seen = save_choices(row, request)
        job = start_import(project=access.project, import_id=row.pk, actor=access.user, seen=seen)
    except ServiceError as error:
        messages.error(request, str(error))
        return redirect("import_preview", access.slug, row.pk)
    if not annotators_of(access.project):
        messages.success(request, _("The notes are being imported. Meanwhile, add people."))
        return redirect("people", access.slug)
    return redirect("job", access.slug, job.number)


@in_project(Can.EXPORT, "POST")
def job_start_export(request: Request, access: Access) -> HttpResponse:
    """Start an export. POST the export form, with its `token`; `seen` if a preview of the mapping was seen."""
    try:
        order, _mapping = asked_export(request, access)
        job = start_export(project=access.project, actor=access.user, token=form_token(request), **vars(order))
    except ServiceError as error:
        return refuse_export(request, access.slug, error)
    return redirect("job", access.slug, job.number)


# Download of stored files, such as exports.


@in_project(Can.EXPORT, "GET")
def file_download(request: Request, access: Access, pk: int) -> HttpResponse | StreamingHttpResponse:
    """Send an export as an attachment and record the download. 404 once the file has expired."""
    stored = selectors.file_for(access, pk)
    if stored is None:
        gone = not StoredFile.objects.filter(project=access.project, pk=pk).exists()
        context = {
            "erased": gone and selectors.deleted_with_patient(access.project, pk),
            "reason": selectors.why_withdrawn(access.project, pk) if gone else "",
        }
        return render(request, "exchange/export_deleted.html", context, status=404)
    return attachment(request, access, stored)


@in_project(Can.EXPORT)
def note_original(request: Request, access: Access, pk: int) -> StreamingHttpResponse:
    """Send the document from which a note was extracted, and record the download. 404 if there is none."""
    return attachment(request, access, selectors.original_of(access, pk), note=pk)


# Pictures of the pages from which a note was extracted, for people who read the note.


# Seconds for which a page waits for its picture.
SECONDS = 20


@in_project(Can.SEE_PROJECT)
def source_page(request: Request, access: Access, pk: int, page: int) -> HttpResponse:
    """Send the picture of one page of a note's document. 404 where there is none. Recorded as reading the note."""
    note = note_for(access, pk)
    found = selectors.pages_of(note.pk)
    if found is None:
        raise Http404("This note has no pages to show.")
    source, original = found
    if source.kind == "image":
        with open_stored(original) as file:
            picture, kind = file.read(), selectors.IMAGES[splitext(source.name)[1].lower()]
    else:
        with tempfile.TemporaryFile() as copy, Extractor(Limits(seconds=SECONDS)) as extractor:
            with open_stored(original) as file:
                shutil.copyfileobj(file, copy)
            copy.seek(0)
            try:
                picture, kind = extractor.picture(source.name, copy, page), "image/png"
            except NoteError:
                raise Http404("This page can't be drawn.") from None
    NOTE_READ.record(actor=access.user, note=note, data={"what": "page"})
    response = HttpResponse(picture, content_type=kind)
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


# Pages of label mappings: list and add, view and change, delete.


@in_project(Can.EXPORT, *FORM)
def label_mappings(request: Request, access: Access) -> HttpResponse:
    """The label mappings of a project. A POST adds one."""
    sets = shipped_label_sets()
    form = NewMappingForm(request.POST if request.method == "POST" else None, sets=sets)
    if request.method == "POST":
        require(access, Can.MANAGE)
        act = partial(mapping_services.add_mapping, project=access.project, actor=access.user)
        if mapping := attempted(form, lambda: act(**form.cleaned_data)):
            return redirect("label_mapping", access.slug, mapping.pk)
    missing = selectors.open_counts(access.project)
    lines = [
        {"mapping": one, "target": _target_name(one), "open": missing[one.pk]}
        for one in selectors.mappings_of(access.project)
    ]
    context = {"form": form, "lines": lines}
    return render(request, "exchange/label_mappings.html", context, status=422 if form.errors else 200)


@in_project(Can.EXPORT, *FORM)
def label_mapping(request: Request, access: Access, pk: int) -> HttpResponse:
    """A label mapping. A POST changes it; after another person's change nothing is saved, and the page shows both."""
    mapping = selectors.mapping_of(access, pk)
    lines = selectors.mapping_rows(mapping)
    target = selectors.target_of(mapping.target)
    seen = selectors.seen_of(mapping)
    form = MappingForm(
        request.POST if request.method == "POST" else None, lines=lines, target=target, initial={"name": mapping.name}
    )
    context: dict[str, Any] = {"mapping": mapping}
    if request.method == "POST":
        require(access, Can.MANAGE)
        seen = str(form["seen"].value() or "")
        if form.is_valid():
            try:
                name, codes = form.cleaned_data["name"], form.codes()
                saved = mapping_services.change_mapping(
                    mapping=mapping, name=name, codes=codes, seen=seen or None, actor=access.user
                )
                messages.success(request, _saved(saved))
                return redirect("label_mapping", access.slug, pk)
            except ServiceError as error:
                add_error(form, error)
                if error.code == "stale":
                    mapping.refresh_from_db()
                    seen = selectors.seen_of(mapping)
                    context |= {"theirs": selectors.mapping_rows(mapping), "their_name": mapping.name}
    context |= {
        "form": form,
        "lines": lines,
        "seen": seen,
        "target": _target_name(mapping),
        "open": [line for line in lines if line.code is None],
        "suggested": any(line.code is None and line.suggestion for line in lines),
    }
    return render(request, "exchange/label_mapping.html", context, status=422 if form.errors else 200)


@in_project(Can.MANAGE, "POST")
def label_mapping_delete(request: Request, access: Access, pk: int) -> HttpResponse:
    if LABEL_MAPPING_DELETED.happened(access.project.pk, data__mapping=pk):
        return redirect("label_mappings", access.slug)
    mapping = selectors.mapping_of(access, pk)
    mapping_services.delete_mapping(mapping=mapping, actor=access.user)
    messages.success(request, _("The label mapping “%(name)s” was deleted.") % {"name": mapping.name})
    return redirect("label_mappings", access.slug)


def _target_name(mapping: LabelMapping) -> str:
    target = selectors.target_of(mapping.target)
    return target.name if target else ""


def _saved(mapping: LabelMapping) -> str:
    if missing := selectors.open_labels(mapping):
        return _("Saved. Labels without a choice: %(labels)s. Exports refuse this mapping until all have one.") % {
            "labels": ", ".join(f"“{label.name}”" for label in missing)
        }
    return _("Saved. Exports can use this mapping.")
