"""The leaks that auditors found, and the decisions about them."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotations.core.access import Can, enter
from annotations.core.errors import ServiceError
from annotations.core.requests import Request, paged
from annotations.models import AuditMark, AuditPlan
from annotations.release.forms.audits import DecisionForm
from annotations.release.selectors.audits.leaks import leak_marks
from annotations.release.selectors.releases import release_for
from annotations.release.services.audits.deciding import DECISIONS
from annotations.release.services.audits.showing import show_leaks

SIZE = 50


@require_safe
def audit_leaks(request: Request, slug: str, number: int) -> HttpResponse:
    """List the leaks in their sentences of the original note. Managers only: auditors read without this knowledge."""
    access = enter(request.user, slug, Can.RELEASE)
    release = release_for(access, number)
    plan = get_object_or_404(AuditPlan, release=release)
    page = paged(request, leak_marks(plan).order_by("note__position", "start"), SIZE)
    leaks = show_leaks(project=access.project, marks=list(page), actor=access.user)
    return render(
        request, "release/audits/leaks.html",
        {"access": access, "release": release, "plan": plan, "page": page, "leaks": leaks},
    )  # fmt: skip


@require_POST
def audit_decide(request: Request, slug: str, number: int) -> HttpResponse:
    """Decide about one leak."""
    access = enter(request.user, slug, Can.RELEASE)
    release = release_for(access, number)
    form = DecisionForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Choose one of the decisions."))
        return redirect("audit_leaks", slug, number)
    marks = AuditMark.objects.select_related("note__plan__release__project", "note__note")
    mark = get_object_or_404(marks, note__plan__release=release, pk=form.cleaned_data["mark"])
    try:
        DECISIONS[form.cleaned_data["answer"]](mark=mark, actor=access.user)
    except ServiceError as error:
        messages.error(request, str(error))
    return redirect("audit_leaks", slug, number)
