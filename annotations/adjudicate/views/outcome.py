"""The page that compares an annotator's own spans with the adjudicated ones. It names no other annotator."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from annotations.core.access import Can, enter, note_for
from annotations.core.events import NOTE_READ
from annotations.core.labels import LabelItem, labels_of
from annotations.core.requests import Request, paged
from annotations.core.spans import own_set, spans_of
from annotations.domain.adjudicating.outcome import Fate, Fated
from annotations.domain.adjudicating.outcome import outcome as outcome_of
from annotations.domain.sentences import around
from annotations.domain.spans import Span
from annotations.models import AnnotationSet, Document
from annotations.notes.selectors.comments import threads
from annotations.notes.selectors.outcome import outcome_set

# Spans on one page: two sets at their limit make 20,000.
ROWS = 200
FATES = {
    Fate.KEPT: gettext_lazy("Kept"),
    Fate.CHANGED: gettext_lazy("Changed"),
    Fate.LEFT_OUT: gettext_lazy("Removed"),
    Fate.MISSED: gettext_lazy("Missed"),
}


@require_safe
def outcome(request: Request, slug: str, pk: int) -> HttpResponse:
    """Show the outcome: 404 until the adjudication is finished, 403 where the project doesn't show outcomes."""
    access = enter(request.user, slug, Can.ANNOTATE)
    note = note_for(access, pk)
    own = own_set(note.pk, access.user)
    if own is None or own.state != AnnotationSet.State.SUBMITTED:
        raise Http404("no submitted annotations of this person")
    if not access.project.show_outcome:
        raise PermissionDenied("this project shows no outcomes")
    adjudicated = outcome_set(access.project, note.pk)
    if adjudicated is None:
        raise Http404("not adjudicated yet")
    # A person who has seen the outcome can't annotate this note blind any more.
    NOTE_READ.record(
        actor=access.user,
        project_id=note.project_id,
        document_id=note.pk,
        data={"what": "outcome"},
    )
    labels = labels_of(access.project.pk)
    by_id = {str(label["id"]): label for label in labels}
    lines = outcome_of(_spans(own.pk), _spans(adjudicated.pk))
    counts = {fate: sum(line.fate == fate for line in lines) for fate in Fate}
    page = paged(request, lines, ROWS)
    context: dict[str, Any] = {
        "access": access,
        "note": note,
        "page": page,
        "lines": [_line(note, line, by_id) for line in page],
        "counts": [(fate.value, FATES[fate], counts[fate]) for fate in Fate],
        "labels": labels,
        "spans": spans_of(adjudicated.pk),
        "threads": [thread for thread in threads(access, note) if not thread["annotation_set"]],
    }
    return render(request, "adjudicate/outcome.html", context)


def _spans(pk: int) -> list[Span]:
    return [Span(span["start"], span["end"], str(span["label"])) for span in spans_of(pk)]


def _line(note: Document, line: Fated, labels: dict[str, LabelItem]) -> dict[str, Any]:
    either = [span for span in (line.own, line.now) if span is not None]
    start, end = min(span.start for span in either), max(span.end for span in either)
    low, high = around(note.text, start, end)
    return {
        "fate": line.fate.value,
        "name": FATES[line.fate],
        "own": _shown(note, line.own, labels),
        "now": _shown(note, line.now, labels),
        "how": _how(line),
        "before": note.text[low:start],
        "text": note.text[start:end],
        "after": note.text[end:high],
    }


def _shown(note: Document, span: Span | None, labels: dict[str, LabelItem]) -> dict[str, Any] | None:
    if span is None:
        return None
    label = labels.get(span.label)
    return {
        "text": note.text[span.start : span.end],
        "name": label["name"] if label else "?",
        "hue": label["hue"] if label else 0,
    }


def _how(line: Fated) -> str:
    if line.fate != Fate.CHANGED:
        return ""
    if line.moved and line.relabeled:
        return _("different bounds and label")
    return _("different bounds") if line.moved else _("different label")
