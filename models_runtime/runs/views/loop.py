"""The page of the loop: its rounds, and the next step among freezing, training, running and reviewing."""

import uuid
from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotations.core.access import Access, Can, enter
from annotations.core.requests import Request, error_as_message
from annotations.core.templatetags.plots import Point
from annotations.gold.forms import HoldOutForm
from annotations.gold.services.splitting import begin_round
from models_runtime.core.registry import TRAINABLE
from models_runtime.runs.services.loop import Round, loop_of, rounds


@require_safe
def loop(request: Request, slug: str) -> HttpResponse:
    return _loop(request, enter(request.user, slug, Can.READ_NOTES), HoldOutForm())


def _loop(request: Request, access: Access, form: HoldOutForm) -> HttpResponse:
    """Render the loop with the form that begins a round."""
    state = loop_of(access.project)
    found = rounds(access.project)
    kind, first = next(iter(TRAINABLE.items()))
    context = {
        "access": access,
        "state": state,
        "rounds": found,
        "begun": state.version is not None or any(each.effort.acts for each in found),
        "same": sum(each.comparable for each in found),
        "few_notes": any(each.few_notes for each in found),
        "held_out": next((each.held_out for each in reversed(found) if each.comparable), 0),
        "plots": _plots(found),
        "form": form,
        "algorithm": f"{kind}:{next(iter(first.algorithms))}",
        "may": _may(access),
        "token": uuid.uuid4(),
    }
    return render(request, "runs/loop/loop.html", context, status=422 if form.errors else 200)


def _may(access: Access) -> dict[str, bool]:
    """Return which steps this person may take."""
    manages, decides = access.can(Can.MANAGE), access.can(Can.MAKE_GOLD)
    return {"freeze": decides, "train": manages, "run": manages, "review": decides}


def _plots(found: Sequence[Round]) -> list[dict[str, Any]]:
    """Return a plot for each figure that at least one round has."""
    versions = [each for each in found if each.version]
    f1 = _("F1 on held-out notes")
    plots: list[tuple[str, str, int, list[tuple[Round, float | None, str]]]] = [
        (_("Gold spans"), _("Spans"), 0, [(each, each.version.span_count, "") for each in found if each.version]),
        (f1, "F1", 3, [(each, each.f1 if each.comparable else None, _reason(each)) for each in versions]),
        (_("Actions per span"), _("Actions per span"), 2, [(each, each.effort.acts_per_span, "") for each in found]),
        (_("Seconds per note"), _("Seconds"), 0, [(each, each.effort.seconds_per_note, "") for each in found]),
    ]
    return [
        {
            "title": title,
            "digits": digits,
            "points": [_point(each, value, reason, interval=title == f1) for each, value, reason in rows],
            "few_notes": title == f1 and any(each.few_notes for each, value, _reason in rows if value is not None),
            "unit": unit,
        }
        for title, unit, digits, rows in plots
        if any(value is not None for _each, value, _reason in rows)
    ]


def _point(each: Round, value: float | None, reason: str, *, interval: bool) -> Point:
    few = each.few_notes if interval and value is not None else None
    if few is None:
        return Point(str(each.number), value, detail=reason)
    return Point(str(each.number), value, few["low"], few["high"], reason)


def _reason(each: Round) -> str:
    """Return why a round has no score in the plot."""
    if each.model is None:
        return _("no model")
    if each.f1 is None:
        return _("no held-out notes")
    return "" if each.comparable else _("other notes")


@require_POST
def loop_freeze(request: Request, slug: str) -> HttpResponse:
    """Begin the next round. POST `share`, the hold-out of the first round in percent. Safe to repeat."""
    access = enter(request.user, slug, Can.MAKE_GOLD)
    form = HoldOutForm(request.POST)
    if not form.is_valid():
        return _loop(request, access, form)
    with error_as_message(request):
        begun = begin_round(project=access.project, actor=access.user, share=form.cleaned_data["share"])
        if begun.made:
            text = _("Version %(number)s was frozen. A new round begins.")
        elif begun.split:
            text = _("Notes of version %(number)s were held out. A new round begins.")
        else:
            text = _("Gold has not changed since version %(number)s, so no new version was frozen.")
        say = messages.success if begun.made or begun.split else messages.info
        say(request, text % {"number": begun.version.number})
    return redirect("loop", slug)
