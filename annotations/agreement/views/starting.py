"""Start and watch the job that computes the figures of agreement of a large project."""

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_POST, require_safe

from annotations.agreement.rules import ComparedUnit
from annotations.agreement.services.starting import start_agreement
from annotations.core.access import Access, Can, enter
from annotations.core.requests import Request
from annotations.core.tokenizers import KINDS
from annotations.jobs.services.status import status_of
from annotations.models import Job, JobState


@require_POST
def agreement_start(request: Request, slug: str) -> HttpResponse:
    """Start the job for `unit` and `tokenizer`; redirect to its page, or show its progress to htmx."""
    access = enter(request.user, slug, Can.READ_NOTES)
    asked, tokenizer = request.POST.get("unit", ""), request.POST.get("tokenizer", "")
    if asked not in list(ComparedUnit) or tokenizer not in ("", *KINDS):
        raise Http404("no such unit or tokenizer")
    job = start_agreement(project=access.project, unit=ComparedUnit(asked), tokenizer=tokenizer, actor=access.user)
    if not request.htmx:
        return redirect("job", slug, job.number)
    return _progress(request, access, job)


@require_safe
def agreement_progress(request: Request, slug: str, number: int) -> HttpResponse:
    """Show the progress of such a job to htmx, which reloads the page when the job is done."""
    access = enter(request.user, slug, Can.READ_NOTES)
    job = get_object_or_404(Job, project=access.project, number=number, kind="agreement")
    if not request.htmx:
        return redirect("job", slug, job.number)
    return _progress(request, access, job)


def _progress(request: Request, access: Access, job: Job) -> HttpResponse:
    status = status_of(job, access)
    response = render(request, "agreement/job.html", {"access": access, "status": status})
    if job.state == JobState.DONE:
        response["HX-Refresh"] = "true"
    patch_vary_headers(response, ["HX-Request"])
    return response
