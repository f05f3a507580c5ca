"""The acceptance page (precision of suggestions, agreement between reviewers) and the export of the decision log."""

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotations.core.access import Access, Can, enter
from annotations.core.events import FILE_DOWNLOADED
from annotations.core.labels import labels_of
from annotations.core.requests import Request
from annotations.domain.reviewing.precision import BANDS
from annotations.models import Span
from annotations.review.selectors.decision_log import FORMATS, overruled
from annotations.review.selectors.drawn import drawn_of
from annotations.review.selectors.handovers import pairs
from annotations.review.selectors.leaks_found import measured_by, together, unsuggested
from annotations.review.selectors.precision import Accepted, acceptance_by, rates_by, suggestions_by
from annotations.review.selectors.reviewing import chosen_runs, run_authors
from annotations.review.services.offering import ONE_IN

TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson; charset=utf-8"}


@require_safe
def acceptance(request: Request, slug: str) -> HttpResponse:
    """The acceptance page. Query string: ?run=ID… limits the figures to some runs."""
    access = enter(request.user, slug, Can.READ_NOTES)
    chosen = chosen_runs(access.project, request.GET.getlist("run"), merged=True)
    spans = suggestions_by(access.project, [run.pk for run in chosen])
    context = {
        "access": access,
        "runs": run_authors(access.project),
        "chosen": chosen,
        "tables": _tables(access, spans),
        "overruled": overruled(access.project),
        "drawn": [(each, rates_by(suggestions_by(access.project, [each.run.pk]))[()]) for each in drawn_of(chosen)],
        "one_in": ONE_IN,
        "pairs": pairs(access.project, chosen),
        "planting": _planting(access, [run.pk for run in chosen]),
    }
    return render(request, "review/acceptance.html", context)


def _planting(access: Access, runs: Sequence[int]) -> dict[str, Any]:
    """Missed planted leaks: managers see the figures of all reviewers, others the total and their own figures."""
    measured = measured_by(access.project, runs)
    whole = together(measured)
    rows = measured if access.can(Can.MANAGE) else [one for one in measured if one.reviewer_id == access.user.pk]
    return {
        "measured": bool(measured),
        "rows": rows,
        "whole": whole,
        "others": len(measured) - len(rows),
        "unsuggested": unsuggested(access.project, whole.missed, runs) if measured else None,
    }


def _tables(access: Access, spans: "QuerySet[Span]") -> list[tuple[str, list[tuple[str, Accepted]]]]:
    names = {label["id"]: label["name"] for label in labels_of(access.project.pk)}
    by_band = sorted(acceptance_by(spans, "band"), key=lambda row: row.key)
    by_source = acceptance_by(spans, "annotation_set__author__name", "source")
    return [
        (_("By label"), [(names.get(row.key[0], "?"), row) for row in acceptance_by(spans, "label_id")]),
        (_("By source"), [(_source(*row.key), row) for row in by_source]),
        (_("By confidence"), [(_band(*row.key), row) for row in by_band]),
    ]


def _source(run: str, source: str) -> str:
    return f"{run}: {source}" if source else run


def _band(index: int) -> str:
    if index < 0:
        return _("no confidence")
    low, high = BANDS[index]
    return _("%(low)d to %(high)d%%") % {"low": round(100 * low), "high": round(100 * high)}


@require_safe
def decisions_export(request: Request, slug: str, format: str) -> HttpResponse | StreamingHttpResponse:
    """The decision log as CSV or JSONL. The download is recorded as an event."""
    access = enter(request.user, slug, Can.EXPORT)
    if format not in FORMATS:
        raise Http404("Unknown format.")
    FILE_DOWNLOADED.record(actor=access.user, project_id=access.project.pk, data={"decisions": format})
    response = StreamingHttpResponse(FORMATS[format](access.project), content_type=TYPES[format])
    day = timezone.localdate().isoformat()
    response["Content-Disposition"] = f'attachment; filename="{slug}-decisions-{day}.{format}"'
    return response
