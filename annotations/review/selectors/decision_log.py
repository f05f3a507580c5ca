"""The log of review decisions, for export: who decided what on which proposal, when, by which act. Never note text.

A row is one event: a decision, or the taking back of one (`reverts` is the number of the event that it takes back), so
that the rows read from the first to the last give every state there was. What was decided in the same act follows it
under the same event, as `beside`: the rivals of a proposal that was accepted out of several runs' merged list. `pass`
says whether it was the first review of the note, a second person's, or the settling of what the two differ in. A
planted leak is in the log once it was shown: a row `reveal` says in `planted` what the reading made of it (found,
partly, missed, elsewhere) and in `planted_reader` whose reading that was; what was found is decided by a row after it.
A proposal has the same number in all its rows; it is no id, since a gap between ids would tell what is hidden.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from annotations.domain.csv_lines import csv_line
from annotations.models import Author, Document, Event, Label, Project, Span, User, Verb
from annotations.review.selectors.planted import aliases

COLUMNS = (
    "event", "at", "reviewer", "act", "pass", "reverts", "bulk", "over", "note", "note_id", "run", "proposal",
    "proposed_start", "proposed_end", "proposed_label", "confidence", "source",
    "before", "after", "start", "end", "label", "gold_made", "gold_gone", "planted", "planted_reader",
)  # fmt: skip
# Between two reviewers a note is handed on (what a blind second must not see is then set aside) and compared.
BETWEEN = {Verb.REVIEW_HANDED: "hand on", Verb.REVIEW_TAKEN_BACK: "take back", Verb.REVIEW_COMPARED: "compare"}
ACTS = BETWEEN | {Verb.REVIEW_REVEALED: "reveal"}
VERBS = (Verb.REVIEW_DECIDED, Verb.REVIEW_UNDONE, *ACTS)
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
        yield from _rows(batch, labels, runs, aliases(project).of)
        last = batch[-1].pk


def _rows(
    events: Sequence[Event], labels: dict[int, str], runs: dict[int, str], named: Callable[[int], int]
) -> Iterator[Row]:
    names = dict(Document.objects.filter(pk__in={e.document_id for e in events}).values_list("pk", "name"))
    beside = [row[0] for event in events for row in event.data.get("beside", [])]
    spans = Span.objects.in_bulk([*beside, *(e.data["proposal"] for e in events if e.data.get("proposal"))])
    people = {e.data[name] for e in events for name in ("over", "reader") if e.data.get(name)}
    names_of = dict(User.objects.filter(pk__in=people).values_list("pk", "username"))
    for event in events:
        data = event.data
        known = {
            "event": event.pk,
            "at": event.at.isoformat(),
            "reviewer": event.actor.username if event.actor else None,
            "act": data.get("act") or ACTS[Verb(event.verb)],
            "pass": data.get("pass", "first" if event.verb in (Verb.REVIEW_DECIDED, Verb.REVIEW_UNDONE) else None),
            "reverts": event.reverts,
            "bulk": data.get("cause"),
            "over": names_of.get(data.get("over") or 0),
            "note": names.get(event.document_id or 0),
            "note_id": event.document_id,
            "run": runs.get(data["run"]),
        }
        made, gone = (_places(data.get(rows, []), labels) for rows in ("made", "gone"))
        gold = {"gold_made": made, "gold_gone": gone}
        known |= {"planted": data.get("planted"), "planted_reader": names_of.get(data.get("reader") or 0)}
        yield known | _decided(data.get("proposal"), data.get("before"), data.get("after"), spans, labels, named) | gold
        for proposal, before, after in data.get("beside", []):
            told: Row = {"act": "beside", "over": None, "gold_made": [], "gold_gone": []}
            yield known | _decided(proposal, before, after, spans, labels, named) | told


def _decided(
    proposal: int | None, before: Row | None, after: Row | None, spans: dict[int, Span], labels: dict[int, str],
    named: Callable[[int], int],
) -> Row:  # fmt: skip
    """One proposal (none for an act on the text): as it was proposed, its state before and after."""
    span = spans.get(proposal or 0)
    start, end, label = (after or {}).get("place") or (None, None, None)
    return {
        "proposal": named(proposal) if proposal else None,
        "proposed_start": span.start if span else None,
        "proposed_end": span.end if span else None,
        "proposed_label": labels.get(span.label_id) if span else None,
        "confidence": span.confidence if span else None,
        "source": span.source if span else None,
        "before": (before or {}).get("verdict") or ("open" if proposal else None),
        "after": (after or {}).get("verdict") or ("open" if proposal else None),
        "start": start,
        "end": end,
        "label": labels.get(label or 0),
    }


def _places(rows: Sequence[Sequence[Any]], labels: dict[int, str]) -> list[list[Any]]:
    return [[start, end, labels.get(label)] for start, end, label, *_ in rows]


def as_jsonl(project: Project) -> Iterator[str]:
    for row in decisions(project):
        yield json.dumps(row, ensure_ascii=False) + "\n"


def as_csv(project: Project) -> Iterator[str]:
    """RFC 4180, with a head. Places in gold are JSON."""
    yield csv_line(COLUMNS)
    for row in decisions(project):
        yield csv_line(row[column] for column in COLUMNS)


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
