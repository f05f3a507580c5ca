"""The page that compares an annotator's own spans with the adjudicated ones. It names no other annotator."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from annotations.agreement.rules.outcome import Fate, Fated
from annotations.agreement.services.adjudication.outcome import open_outcome
from annotations.core.access import Can, enter, note_for
from annotations.core.labels import LabelItem, labels_of
from annotations.core.requests import Request, paged
from annotations.core.spans import spans_of
from annotations.models import Document
from annotations.notes.selectors.comments import threads
from annotations.text.segments import around
from annotations.text.spans import Span

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
    found = open_outcome(access=access, note=note)
    labels = labels_of(access.project.pk)
    by_id = {str(label["id"]): label for label in labels}
    lines = found.lines
    counts = {fate: sum(line.fate == fate for line in lines) for fate in Fate}
    page = paged(request, lines, ROWS)
    context: dict[str, Any] = {
        "access": access,
        "note": note,
        "page": page,
        "lines": [_line(note, line, by_id) for line in page],
        "counts": [(fate.value, FATES[fate], counts[fate]) for fate in Fate],
        "labels": labels,
        "spans": spans_of(found.adjudicated.pk),
        "threads": [thread for thread in threads(access, note) if not thread.annotation_set],
    }
    return render(request, "agreement/adjudicate/outcome.html", context)


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
