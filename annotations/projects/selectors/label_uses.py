"""Where a project uses a label, which decides whether the label can be deleted."""

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations.models import (
    BulkAct,
    Decision,
    Event,
    GoldVersionNote,
    Label,
    Resolution,
    Span,
    SuggestedLabel,
    SuggestedString,
)


def label_uses(label: Label) -> list[str]:
    """Say in sentences where the label is used; empty if it can be deleted."""
    return [text for source in (_in_spans, _in_decisions, _in_labels, _in_gold, _in_history) for text in source(label)]


def _in_spans(label: Label) -> Iterator[str]:
    spans = Span.objects.filter(label=label)
    if count := spans.count():
        notes = spans.values("annotation_set__document").distinct().count()
        yield _("Spans: %(spans)s, in notes: %(notes)s") % {"spans": f"{count:,}", "notes": f"{notes:,}"}


def _in_decisions(label: Label) -> Iterator[str]:
    project = label.label_set.project_id
    acts = BulkAct.objects.filter(project=project).values_list("rule", flat=True)
    rows = Resolution.objects.filter(document__project=project).values_list("spans", "heard")
    if (
        Decision.objects.filter(label_id=label.pk).exists()
        or SuggestedString.objects.filter(label_id=label.pk).exists()
        or SuggestedLabel.objects.filter(label_id=label.pk).exists()
        or any(label.pk in (rule.get("label"), rule.get("to")) for rule in acts.iterator())
    ):
        yield _("Suggestions and review decisions")
    if any(_names(each, label.pk) for row in rows.iterator() for each in row):
        yield _("Adjudicated locations")


def _in_labels(label: Label) -> Iterator[str]:
    if count := Label.objects.filter(merged_into=label).count():
        yield ngettext(
            "%(count)s label that was merged into it", "%(count)s labels that were merged into it", count
        ) % {"count": count}


def _in_gold(label: Label) -> Iterator[str]:
    rows = GoldVersionNote.objects.filter(version__project=label.label_set.project_id).order_by("version")
    found = {
        number
        for number, spans in rows.values_list("version__number", "spans").iterator()
        if any(span[2] == label.code for span in spans)
    }
    if found:
        yield _("Gold versions: %(numbers)s") % {"numbers": ", ".join(map(str, sorted(found)))}


def _in_history(label: Label) -> Iterator[str]:
    events = Event.objects.filter(project_id=label.label_set.project_id, annotation_set_id__isnull=False)
    if any(_names(data, label.pk) for data in events.order_by().values_list("data", flat=True).iterator()):
        yield _("Changes of annotations that people can still undo")


def _names(value: Any, label: int) -> bool:
    """Whether JSON holds a labeled span with this label: [start, end, label, …] or [span, start, end, label]."""
    if isinstance(value, dict):
        return any(_names(each, label) for each in value.values())
    if not isinstance(value, list):
        return False
    at = 3 if len(value) == 4 and all(isinstance(each, int) for each in value) else 2
    if len(value) > at and value[at] == label and isinstance(value[at], int):
        return True
    return any(_names(each, label) for each in value if isinstance(each, list | dict))
