"""Planted leaks: known identifiers hidden from a note's suggestions until the first reviewer finishes the note.

Notes are drawn when a run's suggestions for them are stored, if the project has turned planted leaks on. Suggestions
stored earlier may have been seen, so nothing is planted among them. The log records a planted leak only when it is
revealed, because people can read the log during the review. A missed planted leak then becomes an open suggestion that
a person must decide on by itself, so it is neither added to gold unseen nor lost.
"""

from collections.abc import Collection, Sequence
from uuid import uuid4

from django.utils import timezone

from annotations.core.bulk import insert_objects
from annotations.core.suggestions import Key, StringCounts, add_strings, tally_of, uncount_strings
from annotations.models import (
    AnnotationSet,
    Author,
    AuthorKind,
    Document,
    PlantedLeak,
    Project,
    Review,
    Span,
    User,
)
from annotations.review.events import REVIEW_REVEALED
from annotations.review.rules.planting import (
    Candidate,
    Marked,
    PlantedFate,
    VisibleNote,
    choose,
    is_drawn,
    nearest,
    outcome,
)
from annotations.review.selectors.known import known_among, suggested_in
from annotations.review.selectors.planted import drawing_key, hidden_in
from annotations.review.services.deciding import Request, decide_locked
from annotations.review.services.log import Act

SHOWN = ["result", "reviewer", "revealed_at"]


def draw_leaks(author: Author, notes: Collection[int]) -> None:
    """Choose the suggestions to hide among those that a run has just stored for these notes.

    Call this in the transaction that stores and counts the suggestions (core.hooks.suggestions_stored), so that no
    page, list or file ever shows a hidden one. Every note gets a review row with the share, whether or not a leak is
    planted in it.
    """
    share = Project.objects.values_list("planted_share", flat=True).get(pk=author.project_id)
    if not share:
        return
    key = drawing_key(author.project_id)
    seen = set(Review.objects.filter(author=author, document__in=notes).values_list("document_id", flat=True))
    new = sorted(set(notes) - seen)
    insert_objects(Review, (Review(document_id=note, author=author, planted_share=share, ahead=True) for note in new))
    drawn = [note for note in new if is_drawn(key, author.pk, note, share)]
    if drawn:
        _plant(author, key, drawn)


def _plant(run: Author, key: bytes, notes: Sequence[int]) -> None:
    suggested = suggested_in(run, notes)
    known = known_among(run, suggested)
    golds: dict[int, list[Marked]] = {note: [] for note in notes}
    rows = Span.objects.filter(annotation_set__author__kind=AuthorKind.GOLD, annotation_set__document__in=notes)
    for note, start, end in rows.order_by().values_list("annotation_set__document_id", "start", "end"):
        golds[note].append(Marked(start, end))
    texts = dict(Document.objects.filter(pk__in=notes).values_list("pk", "text"))
    reviews = dict(Review.objects.filter(author=run, document__in=notes).values_list("document_id", "pk"))
    planted = []
    hidden: dict[Key, StringCounts] = {}
    for note, here in suggested.items():
        shown = [Candidate(one.pk, one.start, one.end, known.get(one.pk, "")) for one in here]
        page = VisibleNote(texts[note], shown, golds[note])
        candidates = [one for one in shown if one.known]
        chosen = {one.pk: one for one in choose(key, run.pk, note, candidates, page.hides)}
        planted += [
            PlantedLeak(review_id=reviews[note], suggestion_id=pk, known=one.known) for pk, one in chosen.items()
        ]
        for one in here:
            if one.pk in chosen and one.string is not None:
                hidden.setdefault((run.pk, one.string, one.label), StringCounts()).add(one.confidence, one.pk)
    insert_objects(PlantedLeak, planted)
    uncount_strings(hidden)


# ── Revealing ────────────────────────────────────────────────────────────────────────────────────────────────────────


def reveal_leaks(*, review: Review, gold: AnnotationSet, document: Document, author: Author, user: User) -> None:
    """Reveal the planted leaks of a note, with their outcomes, when the first reviewer finishes it.

    Call this in a transaction that has locked the note. A planted leak that the reviewer marked completely counts as
    accepted, with the marked bounds and label. The others become open suggestions.
    """
    planted = list(hidden_in(review).select_for_update().order_by("pk"))
    if not planted:
        return
    spans = Span.objects.in_bulk([one.suggestion_id for one in planted])
    marked = [_marked(span, author) for span in gold.spans.all()]
    people = {each.username: each for each in User.objects.filter(username__in={one.by for one in marked})}
    marked_completely: list[tuple[Span, Marked, PlantedFate]] = []
    for one in planted:
        span = spans.get(one.suggestion_id)
        result, whole = outcome(document.text, span, marked) if span else (PlantedFate.ELSEWHERE, False)
        near = nearest(span, marked) if span else None
        finder = people.get(near.by) if near and result in (PlantedFate.FOUND, PlantedFate.PARTLY) else None
        one.result, one.reviewer, one.revealed_at = str(result), finder or user, timezone.now()
        if span and near and whole:
            marked_completely.append((span, near, result))
    PlantedLeak.objects.bulk_update(planted, SHOWN)
    add_strings(tally_of(Span.objects.filter(pk__in=spans)))
    gold.version += 1
    gold.save(update_fields=["version", "updated_at"])
    for one in planted:
        _record(one, document, author.pk, user, gold)
    for span, near, result in marked_completely:
        _accept_as_marked(span, near, result, review, gold, document, author, user)


def _marked(span: Span, author: Author) -> Marked:
    """A gold span, and whether it was added by the review of this run's suggestions.

    A span in gold that was made from the run's whole annotation set names no suggestion.
    """
    how = span.provenance or {}
    accepted = how.get("from") == f"{author.kind}:{author.name}" and "suggestion" in how
    own = accepted or "added" in how.get("changed", ())
    return Marked(span.start, span.end, span.label_id, own, how.get("by") or "")


def _accept_as_marked(
    span: Span, near: Marked, result: PlantedFate, review: Review, gold: AnnotationSet, document: Document,
    author: Author,
    user: User,
) -> None:  # fmt: skip
    """Accept the planted leak with the bounds and label that the reviewer marked. Gold does not change."""
    bounds = near.start, near.end, near.label
    as_suggested = bounds == (span.start, span.end, span.label_id)
    request = Request(
        change_id=uuid4(), act=Act.ACCEPT if as_suggested else Act.CORRECT, suggestion=span.pk, bounds=bounds,
        quote=document.text[near.start : near.end],
    )  # fmt: skip
    decide_locked(document, author, user, review, gold, request, planted=str(result))


def _record(
    one: PlantedLeak, document: Document, run: int, user: User | None, gold: AnnotationSet | None = None
) -> None:
    REVIEW_REVEALED.record(
        actor=user,
        project_id=document.project_id,
        document_id=document.pk,
        annotation_set_id=gold.pk if gold else None,
        data={
            "run": run,
            "suggestion": one.suggestion_id,
            "planted": str(one.result),
            "known": one.known,
            "reviewer": one.reviewer_id,
            "drawn": one.drawn_at.isoformat(timespec="seconds"),
        },
    )
