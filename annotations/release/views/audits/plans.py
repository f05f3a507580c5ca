"""The page of a release's audit: planning it, its progress, and its result."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotations.core.access import Access, Can, enter
from annotations.core.errors import ServiceError
from annotations.core.form_errors import add_error
from annotations.core.requests import Request, paged
from annotations.models import AuditNote, AuditPlan, Release
from annotations.notes.selectors.in_context import label_looks
from annotations.release.forms.audits import PlanForm
from annotations.release.selectors.audits.plans import Choices, preview_of, waiting_for
from annotations.release.selectors.audits.results import Rate, result_of
from annotations.release.selectors.releases import release_for
from annotations.release.services.audits.planning import discard_plan, plan_audit
from annotations.release.services.audits.reading import last_finished, reading_note

SIZE = 50


@require_safe
def audits(request: Request, slug: str) -> HttpResponse:
    """List the releases that have an audit or can get one, newest first."""
    access = enter(request.user, slug, Can.AUDIT_RELEASES)
    rows = Release.objects.filter(project=access.project).select_related("policy", "audit").order_by("-number")
    if not access.can(Can.RELEASE):
        rows = rows.filter(audit__isnull=False)
    return render(request, "release/audits/audits.html", {"access": access, "page": paged(request, rows, SIZE)})


@require_safe
def release_audit(request: Request, slug: str, number: int) -> HttpResponse:
    """Show the audit: its plan and progress, or the form for a new plan with the sample that its choices give.

    Auditors see the result only after the audit has ended, so that it doesn't influence their reading.
    """
    access = enter(request.user, slug, Can.AUDIT_RELEASES)
    release = release_for(access, number)
    plan = AuditPlan.objects.filter(release=release).select_related("release__policy", "created_by").first()
    context: dict[str, Any] = {"access": access, "release": release, "plan": plan}
    if plan is not None:
        context |= _of_plan(access, plan)
    elif access.can(Can.RELEASE):
        form = PlanForm(request.GET) if "target" in request.GET else None
        context |= _of_form(release, form)
    return render(request, "release/audits/audit.html", context)


def _of_plan(access: Access, plan: AuditPlan) -> dict[str, Any]:
    result = result_of(plan)
    mine = AuditNote.objects.filter(plan=plan, reader=access.user, state=AuditNote.State.DONE).count()
    looks = label_looks(access.project)
    return {
        "result": result if access.can(Can.RELEASE) or result.complete else None,
        "mine": mine,
        "begun": reading_note(plan, access.user),
        "reopens": last_finished(plan, access.user),
        "is_open": plan.state == AuditPlan.State.OPEN and plan.release.state == Release.State.PREPARED,
        "untouched": not result.read and not plan.notes.exclude(state=AuditNote.State.WAITING).exists(),
        "ends": [sum(look.values()) for look in plan.looks],
        "share_read": round(100 * result.read / plan.drawn) if plan.drawn else 100,
        "strata": list(result.strata.items()) if plan.by else [],
        "labels": [(looks.get(code), code, rate) for code, rate in result.labels.items() if _shown(rate)],
        "other_labels": max((rate.bound for rate in result.labels.values() if not rate.leaks), default=None),
    }


def _shown(rate: Rate) -> bool:
    """Labels without a leak have the same bound, which the page shows once."""
    return rate.leaks > 0


def _of_form(release: Release, form: PlanForm | None) -> dict[str, Any]:
    waiting = waiting_for(release)
    if waiting:
        return {"waiting": waiting}
    choices = Choices()
    if form is None:
        form = PlanForm()
    elif form.is_valid():
        choices = form.choices
    else:
        return {"form": form}
    try:
        preview = preview_of(release, choices)
    except ServiceError as error:
        if form.is_bound:
            add_error(form, error)
        return {"form": form, "problem": "" if form.is_bound else str(error)}
    # The chosen share of so few notes is none, so one note gets a planted leak.
    raised = preview.planted > round(preview.most * choices.planted)
    return {"form": form, "preview": preview, "choices": choices, "raised": raised}


@require_POST
def audit_start(request: Request, slug: str, number: int) -> HttpResponse:
    """Plan the audit. A repeated request finds the plan that the first one made."""
    access = enter(request.user, slug, Can.RELEASE)
    release = release_for(access, number)
    form = PlanForm(request.POST)
    if not form.is_valid():
        return render(
            request,
            "release/audits/audit.html",
            {"access": access, "release": release, "plan": None, "form": form},
            status=422,
        )
    try:
        plan_audit(release=release, choices=form.choices, actor=access.user)
    except ServiceError as error:
        if error.code != "exists":
            messages.error(request, str(error))
    else:
        messages.success(request, _("The sample is drawn. Auditors can begin to read."))
    return redirect("release_audit", slug, number)


@require_POST
def audit_discard(request: Request, slug: str, number: int) -> HttpResponse:
    access = enter(request.user, slug, Can.RELEASE)
    release = release_for(access, number)
    try:
        discard_plan(release=release, actor=access.user)
    except ServiceError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("The plan was discarded."))
    return redirect("release_audit", slug, number)
