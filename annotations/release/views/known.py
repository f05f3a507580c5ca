"""The page “Known identifiers”: the patient master and its uploads. The lists are in views.lists."""

from collections.abc import Collection
from typing import Any, Final

from django.contrib import messages
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache

from annotations.core.access import Access, Can
from annotations.core.forms import error_beside
from annotations.core.requests import FORM, Request, error_as_message, in_project, number, paged, takes_uploads
from annotations.models import Document, KnownUploadState, ListedTermKind
from annotations.projects.selectors.labels import labels_of
from annotations.release.forms.known import ListsFileForm, MasterForm, TermsForm
from annotations.release.rules.known.person import FIELD_NAMES
from annotations.release.selectors import known as selectors
from annotations.release.services import known as known_services

_PROBLEMS: Final = {
    "no id": gettext_lazy("Row %(row)d has no patient ID and is left out."),
    "bad id": gettext_lazy(
        "Row %(row)d has a patient ID of more than 80 characters, or with control characters, and is left out."
    ),
    "cells": gettext_lazy("Row %(row)d has more cells than the first line and is left out."),
    "date": gettext_lazy("Row %(row)d, column “%(column)s”: this is not a date. The value is left out."),
    "fhir": gettext_lazy("Resource %(row)d, element “%(column)s”, does not follow FHIR R4 and is left out."),
    "many": gettext_lazy(
        "Row %(row)d, “%(column)s”: the patient has more than 100 values. Only the first ones are kept."
    ),
    "value": gettext_lazy("Row %(row)d, column “%(column)s”: the value is too long or not text, and is left out."),
}
"""A sentence for each problem of a file, with row and column, never a value."""


def field_name(name: str) -> str:
    """What the pages call a field of the master."""
    return _("Patient ID") if name == "patient_id" else _(FIELD_NAMES[name])


TERMS = 50


@takes_uploads(Can.MANAGE)
@in_project(Can.MANAGE, *FORM)
def known(request: Request, access: Access) -> HttpResponse:
    """Show the state of the master and both lists. POST `do`: upload, which stages a file, or clear."""
    form = MasterForm()
    if request.method == "POST" and request.POST.get("do") == "clear":
        count = known_services.clear_master(project=access.project, actor=access.user)
        text = ngettext("%(count)d patient was deleted.", "%(count)d patients were deleted.", count) % {"count": count}
        messages.success(request, text)
        return redirect("known", access.slug)
    if request.method == "POST":
        form = MasterForm(request.POST, request.FILES)
        if form.is_valid():
            wanted = form.cleaned_data
            with error_beside(form):
                _upload, job = known_services.stage_master(
                    project=access.project, content=wanted["file"], format=wanted["format"], actor=access.user
                )
                return redirect("job", access.slug, job.number)
    context = context_of(request, access, master=form)
    return render(request, "release/known/known.html", context, status=422 if form.errors else 200)


def context_of(request: Request, access: Access, **forms: Any) -> dict[str, Any]:
    """The context of the page, with the given forms in place of empty ones."""
    labels = labels_of(access.project)
    state = selectors.master_state(access.project)
    names = {label.code: label.name for label in labels}
    lists = []
    for kind in (ListedTermKind.DENY, ListedTermKind.ALLOW):
        page = paged(request, selectors.terms_of(access.project, kind), TERMS, str(kind))
        rows = [(row, text, names.get(row.label, row.label)) for row, text in page]
        lists.append((kind, page, rows))
    return {
        "state": state,
        "fields": [(field_name(name), count) for name, count in state.fields.items()],
        "uploads": selectors.uploads_of(access.project),
        "lists": lists,
        "master": MasterForm(),
        "terms": TermsForm(labels=labels, auto_id="terms_%s"),
        "lists_file": ListsFileForm(auto_id="lists_%s"),
    } | forms


@in_project(Can.MANAGE, *FORM)
def known_upload(request: Request, access: Access, pk: int) -> HttpResponse:
    """Show what an upload holds, as counts and names of columns. POST `do`: import or discard."""
    upload = selectors.upload_for(access, pk)
    if request.method == "POST":
        match request.POST.get("do"):
            case "discard":
                known_services.discard_upload(project=access.project, upload_id=pk)
                messages.info(request, _("Upload discarded. The patient master is unchanged."))
            case "import":
                said = _("Patient master imported. New: %(added)d, changed: %(changed)d, unchanged: %(unchanged)d.")
                with error_as_message(request):
                    done = known_services.import_upload(project=access.project, upload_id=pk, actor=access.user)
                    messages.success(request, said % done)
            case _:
                messages.error(request, _("Unknown action. Nothing was changed. Reload the page."))
        return redirect("known", access.slug)
    context = {
        "upload": upload,
        "read": upload.state == KnownUploadState.READ,
        "columns": [(name, field_name(field)) for name, field in upload.report.get("columns", {}).items()],
        "problems": [str(_PROBLEMS[one["code"]]) % one for one in upload.report.get("problems", [])],
    }
    return render(request, "release/known/upload.html", context)


# The allow and deny lists: add and remove terms, import and export both lists.


@takes_uploads(Can.MANAGE)
@in_project(Can.MANAGE, "POST")
def known_lists(request: Request, access: Access) -> HttpResponse:
    """Change the lists. POST `do`: add, remove or file."""
    acts = {"add": _add, "remove": _remove, "file": _import_terms}
    if act := acts.get(request.POST.get("do", "")):
        return act(request, access)
    messages.error(request, _("Unknown action. Nothing was changed. Reload the page."))
    return redirect("known", access.slug)


def _add(request: Request, access: Access) -> HttpResponse:
    form = TermsForm(request.POST, labels=labels_of(access.project), auto_id="terms_%s")
    if form.is_valid():
        wanted = form.cleaned_data
        with error_beside(form):
            done = known_services.add_terms(
                project=access.project, kind=wanted["which"], terms=form.labeled_terms(), actor=access.user
            )
            return _listed(request, access, [done])
    return render(request, "release/known/known.html", context_of(request, access, terms=form), status=422)


def _remove(request: Request, access: Access) -> HttpResponse:
    term = number(request.POST, "term") or 0
    if known_services.remove_term(project=access.project, term_id=term, actor=access.user):
        messages.success(request, _("Term removed."))
    else:
        messages.info(request, _("This term was removed already."))
    return redirect("known", access.slug)


def _import_terms(request: Request, access: Access) -> HttpResponse:
    form = ListsFileForm(request.POST, request.FILES, auto_id="lists_%s")
    if form.is_valid():
        content = form.cleaned_data["file"]
        with error_beside(form, {"label": "file", "terms": "file"}):
            done = known_services.import_lists(project=access.project, content=content, actor=access.user)
            return _listed(request, access, done.values())
    return render(request, "release/known/known.html", context_of(request, access, lists_file=form), status=422)


def _listed(request: Request, access: Access, done: Collection[known_services.AddedTerms]) -> HttpResponse:
    """Say how many terms were added."""
    added, already = sum(each.added for each in done), sum(each.already for each in done)
    text = ngettext("%(count)d term was added.", "%(count)d terms were added.", added) % {"count": added}
    if already:
        again = ngettext("%(count)d was on the list already.", "%(count)d were on the list already.", already)
        text += " " + again % {"count": already}
    messages.success(request, text)
    return redirect("known", access.slug)


@in_project(Can.MANAGE)
def known_lists_csv(request: Request, access: Access) -> HttpResponse:
    """Both lists as CSV. The export is recorded."""
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{access.slug}-lists.csv"'
    response["Cache-Control"] = "no-store"
    response.write("\ufeff")  # spreadsheet programs recognize UTF-8 only with a byte order mark
    response.writelines(known_services.export_lists(project=access.project, actor=access.user))
    return response


# The patients of the master. Values are shown on request only, and each time is recorded.


ROWS = 50


@in_project(Can.MANAGE)
def known_people(request: Request, access: Access) -> HttpResponse:
    """List the patients with the number of their notes and the names of their fields."""
    page = paged(request, selectors.people_listed(access.project), ROWS)
    notes = Document.objects.filter(project=access.project, patient_id__in=[row.patient_id for row in page])
    counts = dict(notes.order_by().values_list("patient_id").annotate(count=Count("id")))
    rows = [
        (row, counts.get(row.patient_id, 0), [field_name(name) for name in selectors.names_of(row.fields)])
        for row in page
    ]
    return render(request, "release/known/people.html", {"page": page, "rows": rows})


@never_cache
@in_project(Can.MANAGE, *FORM)
def known_person(request: Request, access: Access, pk: int) -> HttpResponse:
    """One patient, with masked values. POST `do`: show, which shows the values and is recorded, or delete."""
    row = selectors.person_for(access, pk)
    fields = [(field_name(name), ["•••"]) for name in selectors.names_of(row.fields)]
    shown = False
    if request.method == "POST":
        match request.POST.get("do"):
            case "delete":
                known_services.delete_person(project=access.project, person_id=pk, actor=access.user)
                messages.success(request, _("The patient's known identifiers were deleted. The notes are unchanged."))
                return redirect("known_people", access.slug)
            case "show":
                person = known_services.show_person(project=access.project, row=row, actor=access.user)
                if person is not None:
                    fields = [(field_name(name), values) for name, values in person.as_dict().items()]
                    shown = True
            case _:
                messages.error(request, _("Unknown action. Nothing was changed. Reload the page."))
    context = {"row": row, "fields": fields, "shown": shown}
    return render(request, "release/known/person.html", context)
