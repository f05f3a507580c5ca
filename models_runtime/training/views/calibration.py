"""Pages of calibrations: one calibration, starting and withdrawing it."""

from itertools import zip_longest
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotations.core.access import Access, Can, enter
from annotations.core.addresses import address
from annotations.core.errors import ServiceError
from annotations.core.forms import add_error, reasons
from annotations.core.requests import Request
from annotations.jobs.tokens import form_token
from annotations.models import AuthorKind
from annotations.notes.selectors.in_context import LabelLook, label_looks
from models_runtime.models import Calibration, Run
from models_runtime.training.forms.calibration import CalibrationForm
from models_runtime.training.services.calibration import start_calibration, withdraw


@require_safe
def calibration(request: Request, slug: str, pk: int) -> HttpResponse:
    """Show one calibration: the reliability diagram, its groups, and figures by label."""
    access = enter(request.user, slug, Can.READ_NOTES)
    row = _calibration_of(access, pk)
    looks = label_looks(access.project)
    context = {
        "access": access,
        "calibration": row,
        "groups": list(zip_longest(row.figures["before"]["groups"], row.figures["after"]["groups"])),
        "labels": [line | {"look": _look(looks, line)} for line in row.figures["labels"]],
        "runs": row.runs.select_related("author").order_by("-pk")[:30],
    }
    return render(request, "training/calibration/calibration.html", context)


def _look(looks: dict[str, LabelLook], line: dict[str, Any]) -> LabelLook:
    return looks.get(line["label"]) or LabelLook(line["label"], line["label"])


@require_POST
def calibration_start(request: Request, slug: str) -> HttpResponse:
    """Start the job. POST `author` (of the run), `gold` (number of a version) and a `token` of the form."""
    access = enter(request.user, slug, Can.MANAGE)
    form = CalibrationForm(request.POST)
    if form.is_valid():
        try:
            job = start_calibration(
                project=access.project,
                author_id=form.cleaned_data["author"],
                gold=form.cleaned_data["gold"],
                actor=access.user,
                token=form_token(request),
            )
            return redirect("job", slug, job.number)
        except ServiceError as error:
            add_error(form, error, {"version": "gold"})
    # The form is on a run's page, which belongs to a higher feature. So errors are shown as messages on that page.
    for reason in reasons(form):
        messages.error(request, reason)
    author = form.cleaned_data.get("author")
    run = Run.objects.filter(project=access.project, author=author, author__kind=AuthorKind.RUN).first()
    return redirect(address("models.run", slug, run.pk) if run else address("models.runs", slug))


@require_POST
def calibration_withdraw(request: Request, slug: str, pk: int) -> HttpResponse:
    """Withdraw a calibration. New runs use the previous one, if any."""
    access = enter(request.user, slug, Can.MANAGE)
    row = _calibration_of(access, pk)
    withdraw(calibration=row, actor=access.user)
    messages.success(request, _("The calibration was withdrawn."))
    return redirect("calibration", slug, row.pk)


def _calibration_of(access: Access, pk: int) -> Calibration:
    rows = Calibration.objects.select_related("run__author", "model", "created_by")
    return get_object_or_404(rows, project=access.project, pk=pk)
