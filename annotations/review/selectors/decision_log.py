"""The log of review decisions, for export: who decided on which suggestion, when, and with what outcome.

The log holds no note text. A row is one event: a decision, or the undo of a decision (`reverts` is the number of the
event that was undone). Reading the rows from first to last gives every state of the review.

* `beside` rows follow the event that they belong to: accepting a suggestion of a merged list also rejects the
  suggestions that conflict with it.
* `pass` is `first` for the first review of a note, `second` for the review by a second person, and `resolving` while
  the second person resolves differences.
* A planted leak appears in the log once it was shown to the reviewer. The `reveal` row gives the outcome in `planted`
  (found, partly, missed, elsewhere) and the reviewer in `planted_reviewer`. If the reviewer found the planted leak, the
  decision follows in a later row.
* `removal` is the refiner's number of an annotation that it proposes to remove. Such a row has no suggestion; `before`
  and `after` are about the removal, so that an accepted one leaves the span out of gold.
* `suggestion` is the same number in all rows of a suggestion. The number is not the suggestion's id, because a gap
  between ids would reveal hidden planted leaks.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from annotations.core.services import FILE_DOWNLOADED
from annotations.formats.files.csv_files import csv_line
from annotations.models import Author, Document, Event, Label, Project, Span, User
from annotations.review import events as review_events
from annotations.review.selectors.planted import aliases

COLUMNS = (
    "event", "at", "reviewer", "act", "pass", "reverts", "bulk", "over", "note", "note_id", "run", "suggestion",
    "suggested_start", "suggested_end", "suggested_label", "confidence", "source",
    "before", "after", "start", "end", "label", "gold_added", "gold_removed", "planted", "planted_reviewer", "removal",
)  # fmt: skip
# The exported names of the acts with which two reviewers share a note.
BETWEEN: dict[str, str] = {
    review_events.REVIEW_HANDED_OVER: "hand over",
    review_events.REVIEW_HANDOVER_UNDONE: "undo handover",
    review_events.REVIEW_COMPARED: "compare",
}
ACTS: dict[str, str] = BETWEEN | {review_events.REVIEW_REVEALED: "reveal"}
VERBS = (review_events.REVIEW_DECIDED, review_events.REVIEW_UNDONE, *ACTS)
BATCH = 1_000

LoggedDecision = dict[str, Any]
"""A row: COLUMNS by name."""


def decisions(project: Project) -> Iterator[LoggedDecision]:
    """Every row, oldest first, read in batches. Offsets are code points, end-exclusive; labels are codes."""
    labels = dict(Label.objects.filter(label_set__project=project).values_list("pk", "code"))
    runs = dict(Author.objects.filter(project=project, kind__in=Author.MODELS).values_list("pk", "name"))
    last = 0
    while True:
        rows = Event.objects.filter(project_id=project.pk, pk__gt=last, verb__in=VERBS).select_related("actor")
        batch = list(rows.order_by("pk")[:BATCH])
        if not batch:
            return
        yield from _rows(batch, labels, runs, aliases(project).of)
        last = batch[-1].pk


def _rows(
    events: Sequence[Event], labels: dict[int, str], runs: dict[int, str], named: Callable[[int], int]
) -> Iterator[LoggedDecision]:
    names = dict(Document.objects.filter(pk__in={e.document_id for e in events}).values_list("pk", "name"))
    beside = [row[0] for event in events for row in event.data.get("beside", [])]
    spans = Span.objects.in_bulk([*beside, *(e.data["suggestion"] for e in events if e.data.get("suggestion"))])
    people = {e.data[name] for e in events for name in ("over", "reviewer") if e.data.get(name)}
    names_of = dict(User.objects.filter(pk__in=people).values_list("pk", "username"))
    for event in events:
        data = event.data
        known = {
            "event": event.pk,
            "at": event.at.isoformat(),
            "reviewer": event.actor.username if event.actor else None,
            "act": data.get("act") or ACTS[event.verb],
            "pass": data.get(
                "pass", "first" if event.verb in (review_events.REVIEW_DECIDED, review_events.REVIEW_UNDONE) else None
            ),
            "reverts": event.reverts,
            "bulk": data.get("cause"),
            "over": names_of.get(data.get("over") or 0),
            "note": names.get(event.document_id or 0),
            "note_id": event.document_id,
            "run": runs.get(data["run"]),
            "planted": data.get("planted"),
            "planted_reviewer": names_of.get(data.get("reviewer") or 0),
            "removal": None,
        }
        one = _decided(data.get("suggestion"), data.get("before"), data.get("after"), spans, labels, named)
        for column, rows in (("gold_added", "added"), ("gold_removed", "removed")):
            one[column] = [(start, end, labels.get(label)) for start, end, label, *_ in data.get(rows, [])]
        if "removal" in data:
            known["removal"], before, after = data["removal"]
            one |= {"before": before or "open", "after": after or "open"}
        yield known | one
        for suggestion, before, after in data.get("beside", []):
            other = _decided(suggestion, before, after, spans, labels, named)
            yield known | other | {"act": "beside", "over": None, "gold_added": [], "gold_removed": []}


def _decided(
    suggestion: int | None, before: review_events.DecisionState | None, after: review_events.DecisionState | None,
    spans: dict[int, Span], labels: dict[int, str], named: Callable[[int], int],
) -> LoggedDecision:  # fmt: skip
    """The columns of one suggestion: as suggested, and its state before and after.

    `suggestion` is None for an act that added or removed a span without a suggestion.
    """
    span = spans.get(suggestion or 0)
    start, end, label = (after.get("bounds") if after else None) or (None, None, None)
    return {
        "suggestion": named(suggestion) if suggestion else None,
        "suggested_start": span.start if span else None,
        "suggested_end": span.end if span else None,
        "suggested_label": labels.get(span.label_id) if span else None,
        "confidence": span.confidence if span else None,
        "source": span.source if span else None,
        "before": _verdict(before) or ("open" if suggestion else None),
        "after": _verdict(after) or ("open" if suggestion else None),
        "start": start,
        "end": end,
        "label": labels.get(label or 0),
    }


def _verdict(state: review_events.DecisionState | None) -> str | None:
    return state.get("verdict") if state else None


def as_jsonl(project: Project) -> Iterator[str]:
    for row in decisions(project):
        yield json.dumps(row, ensure_ascii=False) + "\n"


def as_csv(project: Project) -> Iterator[str]:
    """CSV by RFC 4180 with a header row. Gold spans are JSON arrays of start, end and label."""
    yield csv_line(COLUMNS)
    for row in decisions(project):
        yield csv_line(row[column] for column in COLUMNS)


FORMATS: dict[str, Callable[[Project], Iterator[str]]] = {"csv": as_csv, "jsonl": as_jsonl}
TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson; charset=utf-8"}
"""The media types of the formats."""


@dataclass(frozen=True)
class OverruledCounts:
    """How many decisions of `reviewer` replaced one of `earlier`, and how many changed the outcome."""

    reviewer: str
    earlier: str
    decisions: int
    changed: int


def overruled(project: Project) -> list[OverruledCounts]:
    """Decisions that replaced another reviewer's decision, most frequent first."""
    counts: dict[tuple[int, int], list[int]] = {}
    rows = Event.objects.filter(project_id=project.pk, verb=review_events.REVIEW_DECIDED, data__has_key="over")
    for actor, data in rows.values_list("actor_id", "data").iterator(chunk_size=BATCH):
        found = counts.setdefault((actor, data["over"]), [0, 0])
        found[0] += 1
        before, after = data["removal"][1:] if "removal" in data else map(_verdict, (data["before"], data["after"]))
        found[1] += before != after
    people = {pk for pair in counts for pk in pair}
    names = dict(User.objects.filter(pk__in=people).values_list("pk", "username"))
    listed = [OverruledCounts(names.get(by, "?"), names.get(over, "?"), *found) for (by, over), found in counts.items()]
    return sorted(listed, key=lambda row: (-row.decisions, row.reviewer, row.earlier))


# The download of the decision log.


def export_decisions(*, project: Project, actor: User, format: str) -> tuple[Iterator[str], str]:
    """Return the lines of the log in a format of FORMATS, and the name of the file. Record the download."""
    FILE_DOWNLOADED.record(actor=actor, project_id=project.pk, data={"decisions": format})
    day = timezone.localdate().isoformat()
    return FORMATS[format](project), f"{project.slug}-decisions-{day}.{format}"
