"""What an adjudicator's act changed, as the log keeps it, so that its opposite can be made.

A decided place is a row `{start, end, choice, reader, heard, by, at, spans}`, its spans `[start, end, label id,
provenance]`. An act takes some rows away and puts others there; its opposite swaps the two.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.room import check_room
from annotations.models import AnnotationSet, Event, Label, Resolution, Span, User, Verb

Row = dict[str, Any]
VERBS = [Verb.ADJUDICATED, Verb.ADJUDICATION_UNDONE]


@dataclass(frozen=True, slots=True)
class Effect:
    before: list[Row]
    after: list[Row]

    def data(self) -> dict[str, Any]:
        return {"before": self.before, "after": self.after}

    def opposite(self) -> "Effect":
        return Effect(self.after, self.before)


def row_of(resolution: Resolution, spans: Iterable[Span]) -> Row:
    return {
        "start": resolution.start,
        "end": resolution.end,
        "choice": resolution.choice,
        "reader": resolution.reader,
        "heard": resolution.heard,
        "by": resolution.by_id,
        "at": resolution.at.isoformat(),
        "spans": [[span.start, span.end, span.label_id, span.provenance] for span in spans],
    }


def rows_within(row: AnnotationSet, start: int, end: int) -> list[Row]:
    """The decided places inside a stretch, with their spans."""
    inside = Resolution.objects.filter(document_id=row.document_id, start__gte=start, end__lte=end)
    spans = list(row.spans.filter(start__gte=start, end__lte=end))
    return [
        row_of(each, [span for span in spans if each.start <= span.start and span.end <= each.end]) for each in inside
    ]


def apply_effect(row: AnnotationSet, effect: Effect) -> None:
    """Write it. Inside the caller's transaction, the adjudicated set's row locked."""
    gone, spans = Q(pk__in=[]), Q(pk__in=[])
    for old in effect.before:
        gone |= Q(start=old["start"], end=old["end"])
        spans |= Q(start__gte=old["start"], end__lte=old["end"])
    Resolution.objects.filter(gone, document_id=row.document_id).delete()
    row.spans.filter(spans).delete()
    Resolution.objects.bulk_create(_resolution(row, new) for new in effect.after)
    Span.objects.bulk_create(
        Span(annotation_set=row, start=start, end=end, label_id=label, provenance=provenance)
        for new in effect.after
        for start, end, label, provenance in new["spans"]
    )
    check_room(row.pk, [(start, end) for new in effect.after for start, end, *_ in new["spans"]])


def _resolution(row: AnnotationSet, new: Row) -> Resolution:
    return Resolution(
        document_id=row.document_id,
        start=new["start"],
        end=new["end"],
        choice=new["choice"],
        reader=new["reader"],
        spans=[span[:3] for span in new["spans"]],
        heard=new["heard"],
        by_id=new["by"],
        at=datetime.fromisoformat(new["at"]),
    )


def effect_of(event: Event) -> Effect:
    """As the event has it; a label that was merged since stands for the one it was merged into."""
    data = json.loads(json.dumps(event.data))
    rows = [*data["before"], *data["after"]]
    wanted = {span[2] for row in rows for span in row["spans"]}
    merged = dict(Label.objects.filter(pk__in=wanted, merged_into__isnull=False).values_list("pk", "merged_into"))
    for row in rows:
        for span in row["spans"]:
            span[2] = merged.get(span[2], span[2])
    return Effect(data["before"], data["after"])


def check_there(row: AnnotationSet, effect: Effect) -> None:
    """Refuse to take back what is no longer as it was left: somebody decided otherwise since."""
    stretches = [(each["start"], each["end"]) for each in [*effect.before, *effect.after]]
    now: dict[tuple[int, int], Row] = {}
    for start, end in stretches:
        over = Resolution.objects.filter(document_id=row.document_id, start__lt=end, end__gt=start)
        for each in over:
            now[each.start, each.end] = row_of(each, row.spans.filter(start__gte=each.start, end__lte=each.end))
    left = {(each["start"], each["end"]): each for each in effect.before}
    if {place: _said(each) for place, each in now.items()} != {place: _said(each) for place, each in left.items()}:
        raise ServiceError(_("somebody has decided otherwise since, so this can't be taken back by undo"), code="moved")


def _said(row: Row) -> tuple[Any, ...]:
    return row["choice"], row["by"], sorted(tuple(span[:3]) for span in row["spans"])


def last_act(row: AnnotationSet, user: User, *, redo: bool) -> Event:
    """This person's last act that no undo took back; for redo, the last undo that no redo took back."""
    reverted: set[int | None] = set()
    for event in Event.objects.filter(annotation_set_id=row.pk, actor=user, verb__in=VERBS).order_by("-id").iterator():
        act = event.data["act"]
        if redo:
            if act == "redo":
                reverted.add(event.reverts)
            elif act != "undo":
                break
            elif event.pk not in reverted:
                return event
        elif act == "undo":
            reverted.add(event.reverts)
        elif event.pk not in reverted:
            return event
    raise ServiceError(_("there is nothing to redo") if redo else _("there is nothing to undo"), code="nothing")
