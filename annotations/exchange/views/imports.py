"""Pages of imports: upload or paste, preview, report."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.text import slugify
from django.utils.translation import gettext as _

from annotations.core.access import Access, Can
from annotations.core.requests import FORM, Request, in_project, paged, takes_uploads, wants_json
from annotations.core.services import ServiceError
from annotations.exchange import selectors
from annotations.exchange.forms.exports import INPUT_ABOUT
from annotations.exchange.forms.imports import AuthorForm, DocumentsForm, LabelsForm, PasteForm, UploadForm
from annotations.exchange.services import staged
from annotations.exchange.services.input_formats import holds_spans, quotes_spans
from annotations.exchange.services.label_choices import choose_by_mapping, choose_labels, unknown_labels, unknown_of
from annotations.formats.files.csv_files import csv_line
from annotations.formats.notes import NoteError
from annotations.models import Document, Import, ImportState
from annotations.projects.services.assigning import annotators_of
from annotations.text.names import printable

ROWS = 20
# How many of the notes that an import added are listed.
FIRST_NOTES = 20
SHOWN = 200


@takes_uploads(Can.MANAGE)
@in_project(Can.MANAGE, *FORM)
def import_notes(request: Request, access: Access) -> HttpResponse:
    """The import form and past imports. A POST (`do`: files or paste) stages the upload and leads to its preview."""
    upload, paste = UploadForm(), PasteForm(auto_id="paste_%s")
    if request.method == "POST":
        form: UploadForm | PasteForm
        if request.POST.get("do") == "paste":
            form = paste = PasteForm(request.POST, auto_id="paste_%s")
        else:
            form = upload = UploadForm(request.POST, request.FILES)
        row = _stage(access, form) if form.is_valid() else None
        if row is not None:
            url = reverse("import_preview", args=[access.slug, row.pk])
            return JsonResponse({"location": url}) if wants_json(request) else redirect(url)
        if wants_json(request):
            return JsonResponse({"error": "refused", "messages": all_errors(form)}, status=422)
    context = {
        "upload": upload,
        "paste": paste,
        "page": paged(request, selectors.imports_of(access.project), ROWS),
    } | limits()
    status = 422 if upload.errors or paste.errors else 200
    return render(request, "exchange/import.html", context, status=status)


def limits() -> dict[str, Any]:
    """What the field for files says about sizes."""
    return {
        "limit": settings.UPLOAD_MAX_BYTES,
        "limit_text": f"{settings.UPLOAD_MAX_BYTES // (1024 * 1024)} MB",
        "note_limit_text": f"{settings.NOTE_MAX_BYTES // (1024 * 1024)} MB",
        "files_limit": settings.DATA_UPLOAD_MAX_NUMBER_FILES,
    }


def all_errors(form: forms.Form) -> list[str]:
    """The errors of a form, for a script."""
    return [str(message) for messages in form.errors.values() for message in messages]


def _stage(access: Access, form: UploadForm | PasteForm) -> Import | None:
    """Stage the import. Returns None and adds the reason to the form if the upload is not accepted."""
    try:
        return staged.stage_upload(project=access.project, form=form, actor=access.user)
    except (ServiceError, NoteError) as error:
        form.add_error("files" if "files" in form.fields else None, str(error))
        return None


@in_project(Can.MANAGE, *FORM)
def import_preview(request: Request, access: Access, pk: int) -> HttpResponse:
    """Page of one import: the preview before it starts, then its progress, then its report."""
    row = selectors.import_of(access, pk)
    context: dict[str, Any] = {"row": row, "formats": INPUT_ABOUT}
    if request.method == "POST":
        try:
            return _decide(request, access, row)
        except ServiceError as error:
            row.refresh_from_db()
            context["refused"] = str(error)
    if row.state == ImportState.STAGED:
        try:
            spans = (holds_spans(row.format) and row.labels_found) or {}
            unknown = unknown_labels(row.project, spans, row.label_choices)
            context |= {
                "unknown": unknown,
                "choices": LabelsForm(unknown=unknown, groups=selectors.label_groups(access.project)),
            }
            context |= {"mappings": selectors.mappings_of(access.project) if unknown.rows else []}
            context["quoting"] = quotes_spans(row.format)
            if spans:
                whose, _colon, author = row.written_as.partition(":")
                context["whose"] = AuthorForm(initial={"annotations": whose or None, whose: author})
                context["whose"].fields["annotations"].required = True
                context |= {
                    "annotators": annotators_of(access.project),
                    "spans": sum(n for n, _notes in spans.values()),
                }
            if row.has_documents:
                context["reading"] = DocumentsForm(initial={"encoding": row.encoding, "no_cleanup": row.no_cleanup})
            context |= {"preview": (preview := staged.preview_import(row)), "shown": SHOWN}
            context["kinds"] = [each | {"about": INPUT_ABOUT.get(each["format"])} for each in preview["formats"]]
        except (ServiceError, NoteError) as error:
            context["error"] = str(error)
        template = "exchange/import_preview.html"
    else:
        context |= {"report": row.report, "label_lines": selectors.label_lines(row.report)}
        context |= {
            "notes": Document.objects.filter(imported_by=row).only("id", "name").order_by("id")[:FIRST_NOTES],
            "shown": SHOWN,
            "title": _title(row),
        }
        template = "exchange/import_report.html"
    return render(request, template, context, status=409 if "refused" in context else 200)


def _title(row: Import) -> str:
    """The name of an import is that of its job. An import by a command has no job."""
    job = staged.import_job(project=row.project, import_id=row.pk)
    return _("Import %(number)s") % {"number": job.number} if job else _("Import")


def _decide(request: Request, access: Access, row: Import) -> HttpResponse:
    """Discard the upload, or choose what to import.

    `do`: discard, take or leave duplicates, repair or keep offsets, import all notes or the readable ones, author,
    another format, how to read documents, labels, labels by a mapping.
    """
    page = reverse("import_preview", args=[access.slug, row.pk])
    match request.POST.get("do"):
        case "discard":
            staged.discard(row=row)
            messages.info(request, _("Upload discarded. Nothing was imported."))
            page = reverse("import", args=[access.slug])
        case "take" | "leave" as choice:
            staged.change_options(row=row, take_duplicates=choice == "take")
        case "repair" | "keep" as choice:
            staged.change_options(row=row, repair_offsets=choice == "repair")
        case "all" | "readable" as choice:
            staged.change_options(row=row, all_or_nothing=choice == "all")
        case "author":
            save_author(row, request)
        case "format":
            staged.change_format(row=row, format=request.POST.get("format", ""))
        case "documents":
            encoding, no_cleanup = request.POST.get("encoding", ""), request.POST.getlist("no_cleanup")
            staged.change_options(row=row, encoding=encoding, no_cleanup=no_cleanup)
        case "labels":
            save_choices(row, request)
        case "mapping":
            save_author(row, request)
            _map_back(request, access, row)
            page += "#labels"
        case _:
            raise ServiceError(_("Unknown action. Nothing was changed. Reload the page."))
    return redirect(page)


def save_author(row: Import, request: Request) -> None:
    """Save whose the spans are, where the form asks."""
    if "annotations" not in request.POST:
        return
    form = AuthorForm(request.POST)
    if not form.is_valid():
        raise ServiceError(all_errors(form)[0])
    if form.written_as != row.written_as:
        staged.change_options(row=row, written_as=form.written_as)
        row.written_as = form.written_as


def save_choices(row: Import, request: Request) -> str:
    """Save the author, and what happens to unknown labels. Return the state of these choices (`UnknownLabels.seen`)."""
    save_author(row, request)
    seen, values = request.POST.get("choices", ""), _label_values(request)
    if row.state == ImportState.STAGED and row.written_as and values:
        choose_labels(row=row, values=values, seen=seen)
        row.refresh_from_db()
        return unknown_of(row).seen
    return seen


def _label_values(request: Request) -> dict[str, str]:
    return {key[6:]: request.POST.get(key, "") for key in request.POST if key.startswith("label-")}


def _map_back(request: Request, access: Access, row: Import) -> None:
    """Preselect the labels that a label mapping of the project stands for, beside the choices on the page."""
    mapping = selectors.mapping_by_id(access.project, request.POST.get("mapping", ""))
    mapped, several = choose_by_mapping(
        row=row, mapping=mapping, values=_label_values(request), seen=request.POST.get("choices", "")
    )
    if several:
        messages.info(
            request,
            _("The mapping writes several labels of the project as: %(labels)s. Choose an action for them.")
            % {"labels": ", ".join(f"“{printable(name)}”" for name in several)},
        )
    if not mapped:
        messages.info(request, _("The mapping “%(name)s” maps no other label back.") % {"name": mapping.name})


@in_project(Can.MANAGE)
def import_report(request: Request, access: Access, pk: int) -> HttpResponse:
    """The lines of the report as CSV."""
    row = selectors.import_of(access, pk)
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    job = staged.import_job(project=access.project, import_id=row.pk)
    name = f"{slugify(access.slug)}-import" + (f"-{job.number}" if job else "")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    response.write("\ufeff")  # spreadsheet programs recognize UTF-8 only with a byte order mark
    response.writelines(map(csv_line, selectors.report_lines(row.report)))
    return response
