"""The effects of an adjudicator's acts in the event log, and how they are applied and reverted.

A decided location is a row `{start, end, choice, author, heard, by, at, spans}`; a span is `[start, end, label id,
provenance, attributes]`, without attributes in older events. An act replaces some rows by others; its opposite swaps
them.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q
from django.utils.translation import gettext as _

from annotations.agreement.events import (
    ADJUDICATION_DECIDED,
    ADJUDICATION_UNDONE,
    Adjudicated,
    AdjudicationDecided,
)
from annotations.core.changes import backwards, check_room, to_revert
from annotations.core.errors import ServiceError
from annotations.models import AnnotationSet, Event, Label, Resolution, Span, User

Row = Adjudicated
VERBS = [ADJUDICATION_DECIDED, ADJUDICATION_UNDONE]


@dataclass(frozen=True, slots=True)
class Effect:
    before: list[Row]
    after: list[Row]

    def opposite(self) -> "Effect":
        return Effect(self.after, self.before)


def row_of(resolution: Resolution, spans: Iterable[Span]) -> Row:
    return {
        "start": resolution.start,
        "end": resolution.end,
        "choice": resolution.choice,
        "author": resolution.author,
        "heard": resolution.heard,
        "by": resolution.by_id,
        "at": resolution.at.isoformat(),
        "spans": [(span.start, span.end, span.label_id, span.provenance, span.attributes) for span in spans],
    }


def rows_within(row: AnnotationSet, start: int, end: int) -> list[Row]:
    """The decided locations between `start` and `end`, with their spans."""
    inside = Resolution.objects.filter(document_id=row.document_id, start__gte=start, end__lte=end)
    spans = list(row.spans.filter(start__gte=start, end__lte=end))
    return [
        row_of(each, [span for span in spans if each.start <= span.start and span.end <= each.end]) for each in inside
    ]


def apply_effect(row: AnnotationSet, effect: Effect) -> None:
    """Write the effect. Call this inside a transaction that has locked the adjudicated set's row."""
    resolutions, spans = Q(pk__in=[]), Q(pk__in=[])
    for old in effect.before:
        resolutions |= Q(start=old["start"], end=old["end"])
        spans |= Q(start__gte=old["start"], end__lte=old["end"])
    Resolution.objects.filter(resolutions, document_id=row.document_id).delete()
    row.spans.filter(spans).delete()
    Resolution.objects.bulk_create(resolution_of(row.document_id, new) for new in effect.after)
    Span.objects.bulk_create(
        Span(annotation_set=row, start=start, end=end, label_id=label, provenance=provenance, attributes=attributes)
        for new in effect.after
        for start, end, label, provenance, attributes in new["spans"]
    )
    check_room(row.pk, [(start, end) for new in effect.after for start, end, *_ in new["spans"]])


def resolution_of(document: int, new: Row) -> Resolution:
    """The decision of a row, not stored yet."""
    return Resolution(
        document_id=document,
        start=new["start"],
        end=new["end"],
        choice=new["choice"],
        author=new["author"],
        spans=[list(span[:3]) for span in new["spans"]],
        heard=new["heard"],
        by_id=new["by"],
        at=datetime.fromisoformat(new["at"]),
    )


def effect_of(event: Event) -> Effect:
    """The effect that an event logs, with labels that were merged since replaced."""
    data: AdjudicationDecided = json.loads(json.dumps(event.data))
    rows = [*data["before"], *data["after"]]
    wanted = {span[2] for row in rows for span in row["spans"]}
    labels = Label.objects.filter(pk__in=wanted, merged_into__isnull=False)
    merged = {pk: into or pk for pk, into in labels.values_list("pk", "merged_into")}
    for row in rows:
        row["spans"] = [
            (start, end, merged.get(label, label), how, more[0] if more else None)
            for start, end, label, how, *more in row["spans"]
        ]
    return Effect(data["before"], data["after"])


def check_unchanged(row: AnnotationSet, effect: Effect) -> None:
    """Raise ServiceError (`moved`) unless the decisions are as in `effect.before`: somebody may have changed them."""
    locations = [(each["start"], each["end"]) for each in [*effect.before, *effect.after]]
    now: dict[tuple[int, int], Row] = {}
    for start, end in locations:
        overlapping = Resolution.objects.filter(document_id=row.document_id, start__lt=end, end__gt=start)
        for each in overlapping:
            now[each.start, each.end] = row_of(each, row.spans.filter(start__gte=each.start, end__lte=each.end))
    before = {(each["start"], each["end"]): each for each in effect.before}
    if {bounds: _essence(each) for bounds, each in now.items()} != {
        bounds: _essence(each) for bounds, each in before.items()
    }:
        raise ServiceError(_("Someone has changed this decision since, so it can't be undone."), code="moved")


def _essence(row: Row) -> tuple[str, int, list[tuple[int, int, int, str]]]:
    spans = sorted((*span[:3], json.dumps(span[4], sort_keys=True)) for span in row["spans"])
    return row["choice"], row["by"], spans


def last_act(row: AnnotationSet, user: User, *, redo: bool) -> Event:
    """This person's last act that isn't undone; with `redo`, their last undo that isn't redone."""
    events = Event.objects.filter(annotation_set_id=row.pk, actor=user, verb__in=VERBS)
    event = to_revert(backwards(events), key="act", redo=redo)
    if event is None:
        raise ServiceError(_("Nothing to redo.") if redo else _("Nothing to undo."), code="nothing")
    return event
