"""The majority vote over many notes: its preview with the button to start it, and its result with undo."""

import uuid
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRefresh

from annotations.agreement.selectors.adjudication.majority import preview
from annotations.agreement.services.adjudication.starting import start_majority, start_undo
from annotations.agreement.services.comparing import bring_up_to_date, waiting
from annotations.core.access import Can, enter
from annotations.core.errors import ServiceError
from annotations.core.requests import Request
from annotations.jobs.services.batch_acts import job_of
from annotations.jobs.tokens import form_key
from annotations.models import Document, MajorityAct

# Seconds for which a request may compare notes: for the page itself, and for its progress bar.
AT_ONCE, IN_STEPS = 0.4, 1.5
RECENT = 20


@require_safe
def majority(request: Request, slug: str) -> HttpResponse:
    """The preview of a vote. Notes with changed annotations are compared first, if many with a progress bar."""
    access = enter(request.user, slug, Can.MAKE_GOLD)
    project = access.project
    left = bring_up_to_date(project, seconds=IN_STEPS if request.htmx else AT_ONCE)
    notes = Document.objects.filter(project=project).count()
    context = {"access": access, "left": left, "notes": notes, "done": max(0, notes - left)}
    if request.htmx:
        if not left:
            return HttpResponseClientRefresh()
        return render(request, "agreement/disagreements_comparing.html", context)
    if not left:
        recent = MajorityAct.objects.filter(project=project).select_related("user")[:RECENT]
        context |= {"found": preview(project), "recent": recent, "token": uuid.uuid4()}
    return render(request, "agreement/adjudicate/majority.html", context)


@require_POST
def majority_start(request: Request, slug: str) -> HttpResponse:
    """Start a vote as a job. The form's `token` keeps a form that is sent twice from starting two."""
    access = enter(request.user, slug, Can.MAKE_GOLD)
    if waiting(access.project):
        return redirect("majority", slug)
    try:
        job = start_majority(project=access.project, user=access.user, key=form_key(request, access))
    except ServiceError as error:
        messages.error(request, str(error))
        return redirect("majority", slug)
    return redirect("job", slug, job.number)


@require_safe
def majority_act(request: Request, slug: str, vote: UUID) -> HttpResponse:
    """One vote: what it did, and the button to undo it."""
    access = enter(request.user, slug, Can.MAKE_GOLD)
    row = get_object_or_404(MajorityAct.objects.select_related("user"), project=access.project, pk=vote)
    job = job_of(row, "majority_undo") or job_of(row, "majority")
    return render(request, "agreement/adjudicate/majority_act.html", {"access": access, "vote": row, "job": job})


@require_POST
def majority_undo(request: Request, slug: str, vote: UUID) -> HttpResponse:
    access = enter(request.user, slug, Can.MAKE_GOLD)
    row = get_object_or_404(MajorityAct.objects.select_related("project"), project=access.project, pk=vote)
    try:
        job = start_undo(act=row, user=access.user)
    except ServiceError as error:
        messages.error(request, str(error))
        return redirect("majority_act", slug, row.pk)
    return redirect("job", slug, job.number)
