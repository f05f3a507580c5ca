"""What became of an annotator's spans once a note is adjudicated. Nobody else is named."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from annotations.core.access import Can, enter, note_for
from annotations.core.events import record
from annotations.core.labels import LabelItem, labels_of
from annotations.core.requests import Request
from annotations.core.spans import own_set, spans_of
from annotations.domain.outcome import Fate, Fated
from annotations.domain.outcome import outcome as outcome_of
from annotations.domain.sentences import around
from annotations.domain.spans import Span
from annotations.models import AnnotationSet, Document, Verb
from annotations.notes.selectors.comments import threads
from annotations.notes.selectors.outcome import outcome_set

FATES = {
    Fate.KEPT: gettext_lazy("Kept"),
    Fate.CHANGED: gettext_lazy("Changed"),
    Fate.LEFT_OUT: gettext_lazy("Left out"),
    Fate.MISSED: gettext_lazy("Missed"),
}


@require_safe
def outcome(request: Request, slug: str, pk: int) -> HttpResponse:
    """404 until the note's adjudication is closed, 403 where the project keeps outcomes to itself."""
    access = enter(request.user, slug, Can.ANNOTATE)
    note = note_for(access, pk)
    own = own_set(note.pk, access.user)
    if own is None or own.state != AnnotationSet.State.SUBMITTED:
        raise Http404("no reading of this person")
    if not access.project.show_outcome:
        raise PermissionDenied("this project shows no outcomes")
    adjudicated = outcome_set(access.project, note.pk)
    if adjudicated is None:
        raise Http404("not adjudicated yet")
    # Who has seen the outcome is not blind any more, should they read the note again.
    data = {"what": "outcome"}
    record(verb=Verb.NOTE_READ, actor=access.user, project_id=note.project_id, document_id=note.pk, data=data)
    labels = labels_of(access.project.pk)
    by_id = {str(label["id"]): label for label in labels}
    lines = outcome_of(_spans(own.pk), _spans(adjudicated.pk))
    counts = {fate: sum(line.fate == fate for line in lines) for fate in Fate}
    context: dict[str, Any] = {
        "access": access,
        "note": note,
        "lines": [_line(note, line, by_id) for line in lines],
        "counts": [(fate.value, FATES[fate], counts[fate]) for fate in Fate],
        "labels": labels,
        "spans": spans_of(adjudicated.pk),
        "threads": [thread for thread in threads(access, note) if not thread["reading"]],
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
    if line.moved and line.relabelled:
        return _("other ends and another label")
    return _("other ends") if line.moved else _("another label")
