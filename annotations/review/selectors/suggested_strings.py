"""The strings that runs suggest, most open or least certain first, in pages, from the counts in SuggestedString."""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Literal

from django.db.models import F, QuerySet, Value
from django.db.models.functions import Greatest, Substr
from django.shortcuts import get_object_or_404

from annotations.core import suggestions
from annotations.core.access import Access
from annotations.core.authors import notes_in_review
from annotations.core.bulk import batched
from annotations.core.services import record_reads
from annotations.models import Decision, Document, Project, Review, Span, SuggestedString, User
from annotations.notes.events import NOTES_SEARCHED, NotesSearched
from annotations.review.selectors.bulk_rules import waiting_by_string
from annotations.review.selectors.planted import aliases, left_for_one
from annotations.review.selectors.reviewing import handed_over_by
from annotations.review.selectors.suggestions import gold_bounds, is_doubtful, with_finished_gold
from annotations.text.search import around

ROWS = 50
# Characters on either side of a string.
CONTEXT = 40
# String keys per query.
KEYS = 500
Order = Literal["open", "uncertainty"]


@dataclass(frozen=True, slots=True)
class StringRow:
    """A string with one label in the chosen runs. `pk` is the id of one of its count rows and part of its URL.

    `note` is the one that `text` is from, with what stands `before` and `after` it there; 0 if its span was deleted
    meanwhile.
    `open` counts suggestions without a decision; after `as_waiting`, those that a bulk act would decide. `skipped` then
    counts those in notes that already have gold, and `doubtful` the doubtful ones elsewhere, which it would skip.
    """

    pk: int
    key: int
    note: int
    before: str
    text: str
    after: str
    label: int
    count: int
    open: int
    confidence: float | None
    skipped: int = 0
    doubtful: int = 0


@dataclass(frozen=True, slots=True)
class StringPage:
    """One page of strings. `number` starts at 1; `more` says whether there is a next page."""

    rows: list[StringRow]
    number: int
    more: bool


def strings(runs: Sequence[int], *, label: int | None = None, order: Order = "open", number: int = 1) -> StringPage:
    """The strings of these runs that have open suggestions; the same string in several runs is one row."""
    first = (number - 1) * ROWS
    merged = _merged(runs, label, order, first + ROWS + 1)[first:]
    return StringPage(_rows(merged[:ROWS]), number, len(merged) > ROWS)


def of_string(string: SuggestedString, runs: Sequence[int]) -> StringRow:
    """The row of one string, whether it has open suggestions or not."""
    rows = SuggestedString.objects.filter(author__in=runs, string_key=string.string_key, label_id=string.label_id)
    [shown] = _rows([_summed(string, list(rows))])
    return replace(shown, pk=string.pk)


def as_waiting(page: StringPage, runs: Sequence[int], project: Project, user: User) -> StringPage:
    """The page with the counts that the pages of its strings show, without strings that wait for nothing.

    The stored counts, by which strings are ordered, know only decisions. A suggestion without a decision doesn't wait
    if gold has its exact span, if the review of its note is finished or handed over by this person, or if it is a
    planted leak that must be decided on in its note.
    """
    counts = waiting_by_string([(row.key, row.label) for row in page.rows], runs, project, user)
    rows = [
        replace(row, open=found.open, skipped=found.skipped, doubtful=found.doubtful)
        for row in page.rows
        if (found := counts[row.key, row.label]) and (found.open or found.skipped or found.doubtful)
    ]
    return replace(page, rows=rows)


def _rows(found: Sequence[SuggestedString]) -> list[StringRow]:
    texts = _texts([row.sample for row in found])
    return [
        StringRow(
            row.pk, row.string_key, *texts.get(row.sample, (0, "", "", "")), row.label_id, row.count, row.open,
            row.confidence_sum / row.scored if row.scored else None,
        )
        for row in found
    ]  # fmt: skip


def _summed(string: SuggestedString, rows: Sequence[SuggestedString]) -> SuggestedString:
    """A string with one label, summed over its rows in the chosen runs.

    Its id, sample and uncertainty are from the least certain run among those with open suggestions.
    """
    least = min((row for row in rows if row.open), key=lambda row: (-row.uncertainty, row.pk), default=string)
    sums = {name: sum(getattr(row, name) for row in rows) for name in ("count", "open", "scored", "confidence_sum")}
    same = {name: getattr(least, name) for name in ("pk", "sample", "uncertainty", "string_key", "label_id")}
    return SuggestedString(**same, **sums)


def _merged(runs: Sequence[int], label: int | None, order: Order, wanted: int) -> list[SuggestedString]:
    """The first strings over all runs, read from the start of each run's index.

    If a string is ranked by a single run, the first rows of each run contain the first rows overall. If it is ranked by
    the sum over runs, rows are read from each run until no unseen string can rank among or level with the wanted ones
    (the threshold algorithm: Fagin et al. 2003).
    """
    by_one = len(runs) == 1 or order == "uncertainty"
    depth = wanted if by_one else 2 * wanted
    while True:
        tops = [list(_of_run(run, label, order)[:depth]) for run in runs]
        found = sorted(_whole(runs, tops), key=lambda row: (-getattr(row, order), row.pk))[:wanted]
        cut = [rows[-1].open for rows in tops if len(rows) == depth]
        if by_one or not cut or (len(found) == wanted and found[-1].open > sum(cut)):
            return found
        depth *= 4


def _of_run(run: int, label: int | None, order: Order) -> "QuerySet[SuggestedString]":
    rows = SuggestedString.objects.filter(author=run, open__gt=0)
    if label is not None:
        rows = rows.filter(label_id=label)
    return rows.order_by(f"-{order}", "id")


def _whole(runs: Sequence[int], tops: Sequence[Sequence[SuggestedString]]) -> list[SuggestedString]:
    """The strings among these rows, summed over all chosen runs."""
    rows = {row.pk: row for top in tops for row in top}
    if len(runs) > 1:
        keys = sorted({row.string_key for row in rows.values()})
        for batch in batched(keys, KEYS):
            others = SuggestedString.objects.filter(author__in=runs, string_key__in=batch)
            rows |= {row.pk: row for row in others}
    seen = {(row.string_key, row.label_id) for top in tops for row in top}
    grouped: dict[tuple[int, int], list[SuggestedString]] = defaultdict(list)
    for row in rows.values():
        grouped[row.string_key, row.label_id].append(row)
    return [own[0] if len(own) == 1 else _summed(own[0], own) for key, own in grouped.items() if key in seen]


def _texts(samples: Sequence[int]) -> dict[int, tuple[int, str, str, str]]:
    """The note of these spans, what stands before, their text, and what stands after.

    The database cuts them out, because a note may be long.
    """
    text = "annotation_set__document__text"
    low = Greatest(F("start") - CONTEXT, Value(0))
    rows = Span.objects.filter(pk__in=samples).annotate(
        before=Substr(text, low + 1, F("start") - low),
        marked=Substr(text, F("start") + 1, F("end") - F("start")),
        after=Substr(text, F("end") + 1, CONTEXT),
    )
    columns = ("pk", "annotation_set__document_id", "before", "marked", "after")
    return {pk: (note, before, marked, after) for pk, note, before, marked, after in rows.values_list(*columns)}


def string_for(project: Project, pk: int) -> SuggestedString:
    """Return a string of the project. Raises Http404."""
    return get_object_or_404(SuggestedString, pk=pk, author__project=project)


def spans_of(string: SuggestedString, runs: Sequence[int]) -> "QuerySet[Span]":
    """Every occurrence of the string in these runs, ordered by note, without hidden planted leaks."""
    rows = Span.objects.filter(
        string_key=string.string_key, label_id=string.label_id, annotation_set__author__in=runs,
        annotation_set__state="submitted",
    )  # fmt: skip
    return suggestions.visible(rows).order_by("annotation_set__document_id", "start", "annotation_set__author_id")


# Suggestions in their context, from any note of the project, with the state of each.


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A suggestion with its context. Offsets are code points, end-exclusive; pages show `alias` instead of the id.

    `state` is open, accepted, rejected, gold, draft or unavailable; `by` is the user name of the person who decided.
    gold: the suggestion has no decision, but gold already has the same span. draft: the same, but the span is only in
    the draft of an open review, which is not gold yet. unavailable: the suggestion has no decision and can't get one
    here, because the review of its note is finished or was handed over by the person who looks, or because the
    suggestion is a planted leak that the first reviewer must decide on in the note.
    `has_finished_gold`: bulk acts skip the note (selectors.finished_gold). `is_doubtful`: they skip the suggestion.
    """

    pk: int
    alias: int
    note: int
    name: str
    language: str
    run: str
    run_id: int
    label: int
    start: int
    end: int
    before: str
    marked: str
    after: str
    confidence: float | None
    source: str
    state: str
    by: str
    has_finished_gold: bool = False
    is_doubtful: bool = False

    @property
    def is_open(self) -> bool:
        return self.state == "open"


def occurrences(spans: "QuerySet[Span]", project_id: int, user: User) -> list[Occurrence]:
    """These suggestions in the order of the query, with their state for this person.

    The query must leave out hidden planted leaks. The text of each note is read once.
    """
    rows = list(spans.select_related("annotation_set__author", "decision__reviewer"))
    one_by_one = left_for_one(row.pk for row in rows)
    documents = {row.annotation_set.document_id for row in rows}
    notes = Document.objects.only("name", "language", "text").in_bulk(documents)
    handed_over = handed_over_by(user, review__document__in=documents)
    unavailable = _finished(rows) | set(handed_over.values_list("review__document_id", "review__author_id"))
    gold, drafts = gold_bounds(project_id, documents), notes_in_review(project_id, documents)
    finished_gold, alias = with_finished_gold(project_id, documents), aliases(project_id).of
    found = []
    for row in rows:
        note, run = notes[row.annotation_set.document_id], row.annotation_set.author
        before, marked, after = around(note.text, (row.start, row.end))
        decision: Decision | None = getattr(row, "decision", None)
        state, by = "open", ""
        if decision is not None:
            state, by = decision.verdict, decision.reviewer.username
        elif (row.start, row.end, row.label_id) in gold[note.pk]:
            state = "draft" if note.pk in drafts else "gold"
        elif row.pk in one_by_one or (note.pk, run.pk) in unavailable:
            state = "unavailable"
        found.append(
            Occurrence(
                row.pk, alias(row.pk), note.pk, note.name, note.language, run.name, run.pk, row.label_id, row.start,
                row.end, before, marked, after, row.confidence, row.source, state, by, note.pk in finished_gold,
                is_doubtful(row.provenance),
            )
        )  # fmt: skip
    return found


def sampled(spans: "QuerySet[Span]", seed: str, most: int) -> "QuerySet[Span]":
    """At most `most` of these suggestions, drawn at random over notes; the same seed draws the same ones.

    Each drawn note gives one suggestion. Only where there are fewer notes do notes give more.
    """
    chance = random.Random(seed)  # noqa: S311 - no secret
    documents = sorted(spans.order_by().values_list("annotation_set__document_id", flat=True).distinct())
    drawn = chance.sample(documents, min(most, len(documents)))
    rows = spans.filter(annotation_set__document__in=drawn).order_by("pk")
    by_note: dict[int, list[int]] = {note: [] for note in drawn}
    for pk, note in rows.values_list("pk", "annotation_set__document_id"):
        by_note[note].append(pk)
    for found in by_note.values():
        chance.shuffle(found)
    turns = [pk for turn in zip_longest(*by_note.values()) for pk in turn if pk is not None]
    return spans.filter(pk__in=turns[:most]).order_by("pk")


def looked_at(spans: "QuerySet[Span]", access: Access, shown: int) -> list[Occurrence]:
    """Read occurrences for a page that shows the first `shown`, and record that text of their notes was shown.

    The events name the notes, not the string.
    """
    rows = occurrences(spans, access.project.pk, access.user)
    notes = sorted({row.note for row in rows[:shown]})
    record_reads(actor=access.user, project_id=access.project.pk, notes=notes, what="suggestions")
    if notes:
        data: NotesSearched = {"review": True, "notes": notes, "hits": len(rows[:shown])}
        NOTES_SEARCHED.record(actor=access.user, project_id=access.project.pk, data=data)
    return rows


def _finished(rows: Sequence[Span]) -> set[tuple[int, int]]:
    """The finished reviews of these suggestions' notes, as (note id, author id of the run)."""
    reviews = Review.objects.filter(
        document__in={row.annotation_set.document_id for row in rows},
        author__in={row.annotation_set.author_id for row in rows},
        finished_at__isnull=False,
    )
    return set(reviews.values_list("document_id", "author_id"))
