"""Planted leaks: known identifiers hidden from a note's suggestions until the first reviewer finishes the note.

Notes are drawn when a run's suggestions for them are stored, if the project has turned planted leaks on. Suggestions
stored earlier may have been seen, so nothing is planted among them. The log records a planted leak only when it is
revealed, because people can read the log during the review. A missed planted leak then becomes an open suggestion that
a person must decide on by itself, so it is neither added to gold unseen nor lost.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, NamedTuple
from uuid import uuid4

from django.db.models import Count
from django.utils import timezone

from annotations import models
from annotations.core.bulk import batched, insert_objects
from annotations.core.suggestions import Key, StringCounts, add_strings, tally_of, uncount_strings
from annotations.review.events import REVIEW_REVEALED, ReviewRevealed
from annotations.review.rules import planting
from annotations.review.selectors.planted import drawing_key, hidden_in
from annotations.review.selectors.precision import RIGHT_DECISION
from annotations.review.selectors.reviewing import sets_of
from annotations.review.services.deciding import Request, decide_locked
from annotations.review.services.locked_notes import LockedReview
from annotations.review.services.log import Act

# Suggestions that are known or likely to be identifiers before anybody has reviewed the note.


Known = models.PlantedLeak.Known
LabeledString = tuple[int | None, int]
"""The key of a string and a label id."""
# Strings per query.
KEYS: Final = 5_000
# A run is named after its backend, plus a number. Two runs of one backend agree without being independent.
_NUMBER = re.compile(r"[-_ ]?\d+$")


class SuggestionColumns(NamedTuple):
    """The columns of a suggestion that this module needs."""

    pk: int
    note: int
    start: int
    end: int
    label: int
    string: int | None
    confidence: float | None

    @property
    def labeled_string(self) -> LabeledString:
        return self.string, self.label


def suggested_in(run: models.Author, notes: Collection[int]) -> dict[int, list[SuggestionColumns]]:
    """The run's suggestions by note, in text order."""
    by_set = dict(sets_of(run).filter(document__in=notes).values_list("pk", "document_id"))
    found: dict[int, list[SuggestionColumns]] = {note: [] for note in by_set.values()}
    rows = models.Span.objects.filter(annotation_set__in=list(by_set)).order_by("start", "end", "pk")
    columns = ("pk", "annotation_set_id", "start", "end", "label_id", "string_key", "confidence")
    for pk, annotation_set, *rest in rows.values_list(*columns):
        found[by_set[annotation_set]].append(SuggestionColumns(pk, by_set[annotation_set], *rest))
    return found


def known_among(run: models.Author, suggested: dict[int, list[SuggestionColumns]]) -> dict[int, str]:
    """How each known or likely identifier is known, by suggestion id. A model's confidence alone is not enough.

    * People: reviewers decided on the same string with the same label in other notes, one by one, and always accepted
      it exactly as suggested.
    * Runs: more than half of the runs over the note, and at least two, suggest exactly this span. Runs of the same
      name apart from a number count once; merged and refined runs don't count.
    * String (likely): the run suggests the same string with the same label in another note, where people will see it.
    """
    keys = {one.string for here in suggested.values() for one in here if one.string is not None}
    people, strings = _by_people(run.project_id, keys), _counts(run, keys)
    runs = _by_runs(suggested)
    found = {}
    for note, here in suggested.items():
        counts = Counter(one.labeled_string for one in here)
        for one in here:
            right, decided = (
                sum(by_note.values()) - by_note.get(note, 0)  # decisions in the note itself don't count
                for by_note in people.get(one.labeled_string, ({}, {}))
            )
            if 0 < decided == right:
                found[one.pk] = str(Known.PEOPLE)
            elif (note, one.start, one.end, one.label) in runs:
                found[one.pk] = str(Known.RUNS)
            elif strings.get(one.labeled_string, 0) > counts[one.labeled_string]:
                found[one.pk] = str(Known.STRING)
    return found


ByNote = dict[int, int]


def _by_people(project: int, keys: Collection[int]) -> dict[LabeledString, tuple[ByNote, ByNote]]:
    """Suggestions that were decided one by one: for each string, how many were right and how many decided, by note."""
    found: dict[LabeledString, tuple[ByNote, ByNote]] = defaultdict(lambda: ({}, {}))
    for batch in batched(sorted(keys), KEYS):
        rows: Any = models.Decision.objects.filter(
            review__author__project=project, cause__isnull=True, suggestion__string_key__in=batch
        ).order_by()
        counts = rows.values_list("suggestion__string_key", "suggestion__label_id", "review__document_id").annotate(
            right=Count("pk", filter=RIGHT_DECISION), decided=Count("pk")
        )
        for key, label, note, right, decided in counts:
            all_right, all_decided = found[key, label]
            all_right[note], all_decided[note] = right, decided
    return dict(found)


def _counts(run: models.Author, keys: Collection[int]) -> dict[LabeledString, int]:
    """How often the run suggests each of these strings, without hidden planted leaks."""
    found: dict[LabeledString, int] = {}
    for batch in batched(sorted(keys), KEYS):
        rows = models.SuggestedString.objects.filter(author=run, string_key__in=batch)
        found |= {(key, label): count for key, label, count in rows.values_list("string_key", "label_id", "count")}
    return found


def _by_runs(notes: Iterable[int]) -> set[tuple[int, int, int, int]]:
    """Note, start, end and label of the spans that most runs suggest."""
    sets = models.AnnotationSet.objects.filter(
        document__in=list(notes), author__kind=models.AuthorKind.RUN, author__merged_from__isnull=True,
        state=models.AnnotationSetState.SUBMITTED,
    )  # fmt: skip
    rows: Any = sets.values_list("pk", "document_id", "author__name")
    names = {pk: (note, _NUMBER.sub("", name)) for pk, note, name in rows}
    runs_on: dict[int, set[str]] = defaultdict(set)
    for note, name in names.values():
        runs_on[note].add(name)
    several = [pk for pk, (note, _) in names.items() if len(runs_on[note]) > 1]
    suggesting: dict[tuple[int, int, int, int], set[str]] = defaultdict(set)
    spans = models.Span.objects.filter(annotation_set__in=several).order_by()
    for annotation_set, start, end, label in spans.values_list("annotation_set_id", "start", "end", "label_id"):
        note, name = names[annotation_set]
        suggesting[note, start, end, label].add(name)
    return {span for span, runs in suggesting.items() if len(runs) >= 2 and 2 * len(runs) > len(runs_on[span[0]])}


SHOWN = ["result", "reviewer", "revealed_at"]


def draw_leaks(author: models.Author, notes: Collection[int]) -> None:
    """Choose the suggestions to hide among those that a run has just stored for these notes.

    Call this in the transaction that stores and counts the suggestions (core.hooks.suggestions_stored), so that no
    page, list or file ever shows a hidden one. Every note gets a review row with the share, whether or not a leak is
    planted in it.
    """
    share = models.Project.objects.values_list("planted_share", flat=True).get(pk=author.project_id)
    if not share:
        return
    key = drawing_key(author.project_id)
    seen = set(models.Review.objects.filter(author=author, document__in=notes).values_list("document_id", flat=True))
    new = sorted(set(notes) - seen)
    insert_objects(
        models.Review, (models.Review(document_id=note, author=author, planted_share=share, ahead=True) for note in new)
    )
    drawn = [note for note in new if planting.is_drawn(key, author.pk, note, share)]
    if drawn:
        _plant(author, key, drawn)


def _plant(run: models.Author, key: bytes, notes: Sequence[int]) -> None:
    suggested = suggested_in(run, notes)
    known = known_among(run, suggested)
    golds: dict[int, list[planting.GoldSpan]] = {note: [] for note in notes}
    rows = models.Span.objects.filter(
        annotation_set__author__kind=models.AuthorKind.GOLD, annotation_set__document__in=notes
    )
    for note, start, end in rows.order_by().values_list("annotation_set__document_id", "start", "end"):
        golds[note].append(planting.GoldSpan(start, end))
    texts = dict(models.Document.objects.filter(pk__in=notes).values_list("pk", "text"))
    reviews = dict(models.Review.objects.filter(author=run, document__in=notes).values_list("document_id", "pk"))
    planted = []
    hidden: dict[Key, StringCounts] = {}
    for note, here in suggested.items():
        shown = [planting.Candidate(one.pk, one.start, one.end, known.get(one.pk, "")) for one in here]
        page = planting.VisibleNote(texts[note], shown, golds[note])
        candidates = [one for one in shown if one.known]
        chosen = {one.pk: one for one in planting.choose(key, run.pk, note, candidates, page.hides)}
        planted += [
            models.PlantedLeak(review_id=reviews[note], suggestion_id=pk, known=one.known) for pk, one in chosen.items()
        ]
        for one in here:
            if one.pk in chosen and one.string is not None:
                hidden.setdefault((run.pk, one.string, one.label), StringCounts()).add(one.confidence, one.pk)
    insert_objects(models.PlantedLeak, planted)
    uncount_strings(hidden)


# ── Revealing ────────────────────────────────────────────────────────────────────────────────────────────────────────


def reveal_leaks(here: LockedReview) -> None:
    """Reveal the planted leaks of a note, with their outcomes, when the first reviewer finishes it.

    A planted leak that the reviewer marked completely counts as accepted, with the marked bounds and label. The others
    become open suggestions.
    """
    gold, text = here.gold, here.document.text
    planted = list(hidden_in(here.review).select_for_update().order_by("pk"))
    if not planted:
        return
    spans = models.Span.objects.in_bulk([one.suggestion_id for one in planted])
    marked = [_marked(span, here.author) for span in gold.spans.all()]
    people = {each.username: each for each in models.User.objects.filter(username__in={one.by for one in marked})}
    marked_completely: list[tuple[models.Span, planting.GoldSpan, planting.PlantedFate]] = []
    for one in planted:
        span = spans.get(one.suggestion_id)
        result, whole = planting.outcome(text, span, marked) if span else (planting.PlantedFate.ELSEWHERE, False)
        near = planting.nearest(span, marked) if span else None
        finder = (
            people.get(near.by)
            if near and result in (planting.PlantedFate.FOUND, planting.PlantedFate.PARTLY)
            else None
        )
        one.result, one.reviewer, one.revealed_at = str(result), finder or here.user, timezone.now()
        if span and near and whole:
            marked_completely.append((span, near, result))
    models.PlantedLeak.objects.bulk_update(planted, SHOWN)
    add_strings(tally_of(models.Span.objects.filter(pk__in=spans)))
    gold.version += 1
    gold.save(update_fields=["version", "updated_at"])
    for one in planted:
        data: ReviewRevealed = {
            "suggestion": one.suggestion_id,
            "planted": str(one.result),
            "known": one.known,
            "reviewer": one.reviewer_id,
            "drawn": one.drawn_at.isoformat(timespec="seconds"),
        }
        here.record(REVIEW_REVEALED, data)
    for span, near, result in marked_completely:
        # Gold does not change.
        bounds = near.start, near.end, near.label
        act = Act.ACCEPT if bounds == (span.start, span.end, span.label_id) else Act.CORRECT
        quote = text[near.start : near.end]
        request = Request(change_id=uuid4(), act=act, suggestion=span.pk, bounds=bounds, quote=quote)
        decide_locked(here, request, planted=str(result))


def _marked(span: models.Span, author: models.Author) -> planting.GoldSpan:
    """A gold span, and whether it was added by the review of this run's suggestions.

    A span in gold that was made from the run's whole annotation set names no suggestion.
    """
    how = span.provenance or {}
    accepted = how.get("from") == f"{author.kind}:{author.name}" and "suggestion" in how
    own = accepted or "added" in how.get("changed", ())
    return planting.GoldSpan(span.start, span.end, span.label_id, own, how.get("by") or "")
