"""The buttons that start long work on the pages for import, export and gold. Each leads to the job's page."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotations.access import Access, Can, enter
from annotations.forms.refusals import sentence
from annotations.models import Author, Import
from annotations.selectors.barred import RUNS_BARRED, barred_spec, is_barred
from annotations.services.errors import ServiceError
from annotations.services.scoring import asked
from annotations.views.requests import Request, number
from models_runtime.services.starting import import_job, start_export, start_gold, start_import, start_score


def _not_barred(access: Access, author: int) -> None:
    """Raises PermissionDenied for readings that this person may not have for themselves."""
    if is_barred(access, author):
        raise PermissionDenied("these readings are not for this person")


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


@require_POST
def job_start_score(request: Request, slug: str) -> HttpResponse:
    """POST `version` (0: gold as it stands), `author` (its id), `split`, `into`."""
    access = enter(request.user, slug, Can.READ_NOTES)
    try:
        wish = asked(
            access.project,
            version=number(request.POST, "version") or 0,
            author_id=number(request.POST, "author") or 0,
            split=request.POST.get("split", ""),
            into=request.POST.get("into", ""),
        )
    except ServiceError as error:
        messages.error(request, sentence(error))
        return redirect("scores", slug)
    _not_barred(access, wish.author.pk)
    job = start_score(wish=wish, actor=access.user, token=request.POST.get("token", ""))
    return redirect("job", slug, job.pk)


@require_POST
def job_start_gold(request: Request, slug: str) -> HttpResponse:
    """POST `author` (its id)."""
    access = enter(request.user, slug, Can.MAKE_GOLD)
    _not_barred(access, number(request.POST, "author") or 0)
    try:
        job = start_gold(
            project=access.project,
            author_id=number(request.POST, "author") or 0,
            actor=access.user,
            token=request.POST.get("token", ""),
        )
    except ServiceError as error:
        messages.error(request, sentence(error))
        return redirect("gold", slug)
    return redirect("job", slug, job.pk)
