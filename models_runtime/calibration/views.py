"""Calibrations: how far a backend's confidences can be taken at their word, and the buttons that make and end one."""

from itertools import zip_longest
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotations.core.access import Access, Can, enter
from annotations.core.errors import ServiceError
from annotations.core.refusals import sentence
from annotations.core.requests import Request, number
from annotations.models import Author
from annotations.notes.selectors.in_context import LabelLook, label_looks
from models_runtime.calibration.services import start_calibration, withdraw
from models_runtime.models import Calibration, Run


@require_safe
def calibration(request: Request, slug: str, pk: int) -> HttpResponse:
    """One calibration: the reliability plot, its groups, and label by label."""
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
    return render(request, "calibration/calibration.html", context)


def _look(looks: dict[str, LabelLook], line: dict[str, Any]) -> LabelLook:
    return looks.get(line["label"]) or LabelLook(line["label"], line["label"])


@require_POST
def calibration_start(request: Request, slug: str) -> HttpResponse:
    """POST `author` (the run's), `gold` (a version's number) and a `token` that marks the form."""
    access = enter(request.user, slug, Can.MANAGE)
    author = number(request.POST, "author") or 0
    try:
        job = start_calibration(
            project=access.project,
            author_id=author,
            gold=number(request.POST, "gold") or 0,
            actor=access.user,
            token=request.POST.get("token", "")[:36],
        )
    except ServiceError as error:
        messages.error(request, sentence(error))
        run = Run.objects.filter(project=access.project, author=author, author__kind=Author.Kind.RUN).first()
        return redirect("run", slug, run.pk) if run else redirect("runs", slug)
    return redirect("job", slug, job.pk)


@require_POST
def calibration_withdraw(request: Request, slug: str, pk: int) -> HttpResponse:
    """Out of use: runs from now on go by the one before it, or by none."""
    access = enter(request.user, slug, Can.MANAGE)
    row = _calibration_of(access, pk)
    withdraw(calibration=row, actor=access.user)
    messages.success(request, _("The calibration is out of use."))
    return redirect("calibration", slug, row.pk)


def _calibration_of(access: Access, pk: int) -> Calibration:
    rows = Calibration.objects.select_related("run__author", "model", "created_by")
    return get_object_or_404(rows, project=access.project, pk=pk)
