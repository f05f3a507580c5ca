"""The log of review decisions, for export: who decided what on which proposal, when, by which act. Never note text.

A row is one event: a decision, or the taking back of one (`reverts` is the number of the event that it takes back), so
that the rows read from the first to the last give every state there was.
"""

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from annotations.models import Author, Document, Event, Label, Project, Span, User, Verb

COLUMNS = (
    "event", "at", "reviewer", "act", "reverts", "bulk", "over", "note", "note_id", "run", "proposal",
    "proposed_start", "proposed_end", "proposed_label", "confidence", "source",
    "before", "after", "start", "end", "label", "gold_made", "gold_gone",
)  # fmt: skip
VERBS = (Verb.REVIEW_DECIDED, Verb.REVIEW_UNDONE)
BATCH = 1_000
Row = dict[str, Any]


def decisions(project: Project) -> Iterator[Row]:
    """Every row, the oldest first; read in batches. Offsets are code points, end-exclusive; labels are codes."""
    labels = dict(Label.objects.filter(label_set__project=project).values_list("pk", "code"))
    runs = dict(Author.objects.filter(project=project, kind__in=Author.MODELS).values_list("pk", "name"))
    last = 0
    while True:
        rows = Event.objects.filter(project_id=project.pk, pk__gt=last, verb__in=VERBS).select_related("actor")
        batch = list(rows.order_by("pk")[:BATCH])
        if not batch:
            return
        yield from _rows(batch, labels, runs)
        last = batch[-1].pk


def _rows(events: Sequence[Event], labels: dict[int, str], runs: dict[int, str]) -> Iterator[Row]:
    names = dict(Document.objects.filter(pk__in={e.document_id for e in events}).values_list("pk", "name"))
    spans = Span.objects.in_bulk([e.data["proposal"] for e in events if e.data["proposal"]])
    people = {e.data["over"] for e in events if e.data.get("over")}
    over = dict(User.objects.filter(pk__in=people).values_list("pk", "username"))
    for event in events:
        data = event.data
        span = spans.get(data["proposal"])
        after = data["after"] or {}
        start, end, label = after.get("place") or (None, None, None)
        yield {
            "event": event.pk,
            "at": event.at.isoformat(),
            "reviewer": event.actor.username if event.actor else None,
            "act": data["act"],
            "reverts": event.reverts,
            "bulk": data.get("cause"),
            "over": over.get(data.get("over") or 0),
            "note": names.get(event.document_id or 0),
            "note_id": event.document_id,
            "run": runs.get(data["run"]),
            "proposal": data["proposal"],
            "proposed_start": span.start if span else None,
            "proposed_end": span.end if span else None,
            "proposed_label": labels.get(span.label_id) if span else None,
            "confidence": span.confidence if span else None,
            "source": span.source if span else None,
            "before": (data["before"] or {}).get("verdict") or ("open" if data["proposal"] else None),
            "after": after.get("verdict") or ("open" if data["proposal"] else None),
            "start": start,
            "end": end,
            "label": labels.get(label or 0),
            "gold_made": _places(data["made"], labels),
            "gold_gone": _places(data["gone"], labels),
        }


def _places(rows: Sequence[Sequence[Any]], labels: dict[int, str]) -> list[list[Any]]:
    return [[start, end, labels.get(label)] for start, end, label, *_ in rows]


def as_jsonl(project: Project) -> Iterator[str]:
    for row in decisions(project):
        yield json.dumps(row, ensure_ascii=False) + "\n"


def as_csv(project: Project) -> Iterator[str]:
    """RFC 4180, with a head. Places in gold are JSON."""
    yield _line(COLUMNS)
    for row in decisions(project):
        yield _line([_cell(row[column]) for column in COLUMNS])


def _line(cells: Sequence[Any]) -> str:
    out = io.StringIO()
    csv.writer(out).writerow(cells)
    return out.getvalue()


def _cell(value: Any) -> Any:
    """What a spreadsheet would run as a formula begins with an apostrophe instead: names are anybody's."""
    if isinstance(value, list):
        return json.dumps(value) if value else ""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return value


FORMATS: dict[str, Callable[[Project], Iterator[str]]] = {"csv": as_csv, "jsonl": as_jsonl}


def overruled(project: Project) -> list[tuple[str, str, int, int]]:
    """Decisions of one reviewer over those of another: who, whose, how many, how many with another outcome."""
    counts: dict[tuple[int, int], list[int]] = {}
    rows = Event.objects.filter(project_id=project.pk, verb=Verb.REVIEW_DECIDED, data__has_key="over")
    for actor, data in rows.values_list("actor_id", "data").iterator(chunk_size=BATCH):
        found = counts.setdefault((actor, data["over"]), [0, 0])
        found[0] += 1
        found[1] += (data["before"] or {}).get("verdict") != (data["after"] or {}).get("verdict")
    people = {pk for pair in counts for pk in pair}
    names = dict(User.objects.filter(pk__in=people).values_list("pk", "username"))
    listed = [(names.get(by, "?"), names.get(whose, "?"), n, other) for (by, whose), (n, other) in counts.items()]
    return sorted(listed, key=lambda row: (-row[2], row))
