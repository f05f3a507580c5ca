"""The buttons that start an import or an export."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotations.core.access import Can, enter
from annotations.core.barred import RUNS_BARRED, barred_spec
from annotations.core.errors import ServiceError
from annotations.core.refusals import sentence
from annotations.core.requests import Request
from annotations.models import Author, Import
from annotations.transfer.services.starting import import_job, start_export, start_import


@require_safe
def job_of_import(request: Request, slug: str, pk: int) -> HttpResponse:
    """Leads from an import to its job; 404 where it was none."""
    access = enter(request.user, slug, Can.MANAGE)
    job = import_job(project=access.project, import_id=pk)
    if job is None:
        raise Http404("no such job")
    return redirect("job", slug, job.pk)


@require_POST
def job_start_import(request: Request, slug: str, pk: int) -> HttpResponse:
    access = enter(request.user, slug, Can.MANAGE)
    row = get_object_or_404(Import, project=access.project, pk=pk)
    try:
        job = start_import(project=access.project, import_id=row.pk, actor=access.user)
    except ServiceError as error:
        messages.error(request, sentence(error))
        return redirect("import_preview", slug, row.pk)
    return redirect("job", slug, job.pk)


@require_POST
def job_start_export(request: Request, slug: str) -> HttpResponse:
    """POST `format`, `set`, and a `token` that marks the form."""
    access = enter(request.user, slug, Can.EXPORT)
    spec = request.POST.get("set", "")
    if barred_spec(access, spec):
        if spec.startswith(f"{Author.Kind.ANNOTATOR}:"):
            raise PermissionDenied("adjudication is anonymous here")
        messages.error(request, str(RUNS_BARRED))
        return redirect("export", slug)
    try:
        job = start_export(
            project=access.project,
            set_spec=request.POST.get("set", ""),
            format=request.POST.get("format", ""),
            actor=access.user,
            token=request.POST.get("token", ""),
            split=request.POST.get("split", ""),
        )
    except ServiceError as error:
        # What there is to choose from would name annotators, which not everybody who may export is told.
        unknown = _("This project has no such annotation sets. Choose from the list.")
        messages.error(request, unknown if error.code == "set" else sentence(error))
        return redirect("export", slug)
    return redirect("job", slug, job.pk)
