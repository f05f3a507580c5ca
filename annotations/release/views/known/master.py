"""The page “Known identifiers”: the patient master and its uploads. The lists are in views.lists."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from annotations.core.access import Access, Can, enter
from annotations.core.errors import ServiceError
from annotations.core.forms import add_error
from annotations.core.requests import Request, paged, takes_uploads
from annotations.models import KnownUploadState, ListedTermKind
from annotations.projects.selectors.labels import labels_of
from annotations.release.forms.known import ListsFileForm, MasterForm, TermsForm
from annotations.release.selectors.known import master_state, terms_of, uploads_of
from annotations.release.services.known.master import clear_master, discard_upload, import_upload, stage_master
from annotations.release.views.known.words import FIELD_NAMES, problem_lines

TERMS = 50


@takes_uploads(Can.MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def known(request: Request, slug: str) -> HttpResponse:
    """Show the state of the master and both lists. POST `do`: upload, which stages a file, or clear."""
    access = enter(request.user, slug, Can.MANAGE)
    form = MasterForm()
    if request.method == "POST" and request.POST.get("do") == "clear":
        count = clear_master(project=access.project, actor=access.user)
        text = ngettext("%(count)d patient was deleted.", "%(count)d patients were deleted.", count) % {"count": count}
        messages.success(request, text)
        return redirect("known", slug)
    if request.method == "POST":
        form = MasterForm(request.POST, request.FILES)
        if form.is_valid():
            try:
                _upload, job = stage_master(
                    project=access.project,
                    content=form.cleaned_data["file"],
                    format=form.cleaned_data["format"],
                    actor=access.user,
                )
                return redirect("job", slug, job.number)
            except ServiceError as error:
                add_error(form, error)
    return render(
        request,
        "release/known/known.html",
        context_of(request, access, master=form),
        status=422 if form.errors else 200,
    )


def context_of(request: Request, access: Access, **forms: Any) -> dict[str, Any]:
    """The context of the page, with the given forms in place of empty ones."""
    labels = labels_of(access.project)
    state = master_state(access.project)
    names = {label.code: label.name for label in labels}
    lists = []
    for kind in (ListedTermKind.DENY, ListedTermKind.ALLOW):
        page = paged(request, terms_of(access.project, kind), TERMS, str(kind))
        rows = [(row, text, names.get(row.label, row.label)) for row, text in page]
        lists.append((kind, page, rows))
    return {
        "access": access,
        "state": state,
        "fields": [(FIELD_NAMES[name], count) for name, count in state.fields.items() if count],
        "uploads": uploads_of(access.project),
        "lists": lists,
        "master": MasterForm(),
        "terms": TermsForm(labels=labels, auto_id="terms_%s"),
        "lists_file": ListsFileForm(auto_id="lists_%s"),
    } | forms


@require_http_methods(["GET", "HEAD", "POST"])
def known_upload(request: Request, slug: str, pk: int) -> HttpResponse:
    """Show what an upload holds, as counts and names of columns. POST `do`: import or discard."""
    access = enter(request.user, slug, Can.MANAGE)
    upload = uploads_of(access.project).filter(pk=pk).first()
    if upload is None:
        raise Http404("This upload does not exist.")
    if request.method == "POST":
        match request.POST.get("do"):
            case "discard":
                discard_upload(project=access.project, upload_id=pk)
                messages.info(request, _("Upload discarded. The patient master is unchanged."))
            case "import":
                _import(request, access, pk)
            case _:
                messages.error(request, _("Unknown action. Nothing was changed. Reload the page."))
        return redirect("known", slug)
    context = {
        "access": access,
        "upload": upload,
        "read": upload.state == KnownUploadState.READ,
        "columns": [(name, FIELD_NAMES[field]) for name, field in upload.report.get("columns", {}).items()],
        "problems": problem_lines(upload.report.get("problems", [])),
    }
    return render(request, "release/known/upload.html", context)


def _import(request: Request, access: Access, pk: int) -> None:
    try:
        done = import_upload(project=access.project, upload_id=pk, actor=access.user)
    except ServiceError as error:
        messages.error(request, str(error))
        return
    messages.success(
        request,
        _("Patient master imported. New: %(added)d, changed: %(changed)d, unchanged: %(unchanged)d.") % done,
    )
