"""The acceptance page (precision of suggestions, agreement between reviewers) and the export of the decision log."""

from django.db.models import QuerySet
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from annotations.core.access import Access, Can
from annotations.core.answers import streamed
from annotations.core.labels import labels_of
from annotations.core.requests import Request, in_project
from annotations.models import Span
from annotations.review.rules.precision import BANDS
from annotations.review.selectors.decision_log import FORMATS, TYPES, export_decisions, overruled
from annotations.review.selectors.planted import planting_for
from annotations.review.selectors.precision import AcceptanceRate, acceptance_by, drawn_of, rate_of, suggestions_by
from annotations.review.selectors.reviewing import chosen_runs, pairs, run_authors
from annotations.review.services.queue import ONE_IN


@in_project(Can.READ_NOTES)
def acceptance(request: Request, access: Access) -> HttpResponse:
    """The acceptance page. Query string: ?run=ID… limits the figures to some runs."""
    chosen = chosen_runs(access.project, request.GET.getlist("run"), merged=True)
    spans = suggestions_by(access.project, [run.pk for run in chosen])
    context = {
        "runs": run_authors(access.project),
        "chosen": chosen,
        "tables": _tables(access, spans),
        "overruled": overruled(access.project),
        "drawn": [(each, rate_of(suggestions_by(access.project, [each.run.pk]))) for each in drawn_of(chosen)],
        "one_in": ONE_IN,
        "pairs": pairs(access.project, chosen),
        "planting": planting_for(access, [run.pk for run in chosen]),
    }
    return render(request, "review/acceptance.html", context)


def _tables(access: Access, spans: "QuerySet[Span]") -> list[tuple[str, list[tuple[str, AcceptanceRate]]]]:
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


@in_project(Can.EXPORT)
def decisions_export(request: Request, access: Access, format: str) -> HttpResponse | StreamingHttpResponse:
    """The decision log as CSV or JSONL. The download is recorded as an event."""
    if format not in FORMATS:
        raise Http404("Unknown format.")
    lines, name = export_decisions(project=access.project, actor=access.user, format=format)
    return streamed(lines, TYPES[format], name)
