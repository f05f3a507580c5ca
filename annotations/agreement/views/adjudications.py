"""The notes to adjudicate, and the majority vote over many notes: its preview, its start, and its result with undo."""

import uuid
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations.agreement.selectors import adjudications as adjudication_selectors
from annotations.agreement.services.comparing import compare_few, waiting
from annotations.agreement.services.deciding import finish_unanimous
from annotations.agreement.services.majority import last_job, recent_votes, start_majority, start_undo
from annotations.core.access import Access, Can
from annotations.core.requests import Request, error_as_message, in_project, number, paged
from annotations.jobs.tokens import form_key
from annotations.models import MajorityAct

PAGE = 50


@in_project(Can.MAKE_GOLD)
def adjudications(request: Request, access: Access) -> HttpResponse:
    """List the notes that two or more annotators have submitted, lowest agreement first."""
    project = access.project
    context: dict[str, Any] = {"left": compare_few(access.project)}
    if not context["left"]:
        asked = request.GET.get("show", "")
        show = (
            adjudication_selectors.Show(asked)
            if asked in adjudication_selectors.Show.values
            else adjudication_selectors.Show.TODO
        )
        counted = adjudication_selectors.adjudication_counts(project)
        page = paged(request, adjudication_selectors.adjudication_notes(project, show), PAGE)
        context |= {
            "show": show,
            "choices": [(each.value, each.label, getattr(counted, each.value)) for each in adjudication_selectors.Show],
            "counted": counted,
            "page": page,
            "lines": adjudication_selectors.items_of(list(page)),
            "author": adjudication_selectors.adjudicated_id(project),
        }
    return render(request, "agreement/adjudicate/adjudications.html", context)


@in_project(Can.MAKE_GOLD)
def adjudicate_next(request: Request, access: Access) -> HttpResponse:
    """Redirect to the next unfinished note after ?after=ID, or to the list if none is left."""
    compare_few(access.project)
    found = adjudication_selectors.next_to_adjudicate(access.project, number(request.GET, "after"), access.user.pk)
    if found is not None:
        return redirect("adjudicate", access.slug, found)
    messages.success(request, _("No note is left to adjudicate."))
    return redirect(f"{reverse('adjudications', args=[access.slug])}?show=finished")


@in_project(Can.MAKE_GOLD, "POST")
def adjudicate_unanimous(request: Request, access: Access) -> HttpResponse:
    """Finish the notes on which all annotators agree, in a project that accepts unanimous annotations."""
    with error_as_message(request):
        compare_few(access.project)
        done = finish_unanimous(project=access.project, user=access.user)
        message = ngettext("%(n)d unanimous note was finished.", "%(n)d unanimous notes were finished.", done.finished)
        messages.success(request, message % {"n": done.finished})
        if done.left:
            more = ngettext(
                "%(n)d note is left. Press the button again.",
                "%(n)d notes are left. Press the button again.",
                done.left,
            )
            messages.success(request, more % {"n": done.left})
    return redirect("adjudications", access.slug)


# ── Majority votes ───────────────────────────────────────────────────────────────────────────────────────────────────


@in_project(Can.MAKE_GOLD)
def majority(request: Request, access: Access) -> HttpResponse:
    """The preview of a vote. Notes with changed annotations are compared first, many by a job."""
    context: dict[str, Any] = {"left": compare_few(access.project)}
    if not context["left"]:
        recent = recent_votes(access.project)
        context |= {"found": adjudication_selectors.preview(access.project), "recent": recent, "token": uuid.uuid4()}
    return render(request, "agreement/adjudicate/majority.html", context)


@in_project(Can.MAKE_GOLD, "POST")
def majority_start(request: Request, access: Access) -> HttpResponse:
    """Start a vote as a job. The form's `token` keeps a form that is sent twice from starting two."""
    if not waiting(access.project):
        with error_as_message(request):
            job = start_majority(project=access.project, user=access.user, key=form_key(request, access))
            return redirect("job", access.slug, job.number)
    return redirect("majority", access.slug)


@in_project(Can.MAKE_GOLD)
def majority_act(request: Request, access: Access, vote: UUID) -> HttpResponse:
    """One vote: what it did, and the button to undo it."""
    row = get_object_or_404(MajorityAct.objects.select_related("user"), project=access.project, pk=vote)
    context = {"vote": row, "job": last_job(row)}
    return render(request, "agreement/adjudicate/majority_act.html", context)


@in_project(Can.MAKE_GOLD, "POST")
def majority_undo(request: Request, access: Access, vote: UUID) -> HttpResponse:
    row = get_object_or_404(MajorityAct.objects.select_related("project"), project=access.project, pk=vote)
    with error_as_message(request):
        return redirect("job", access.slug, start_undo(act=row, user=access.user).number)
    return redirect("majority_act", access.slug, row.pk)
