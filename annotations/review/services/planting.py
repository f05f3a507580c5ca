"""Planted leaks: known identifiers hidden from a note's proposals, and shown when its first reader closes the note.

A note is drawn when it is first opened for review while the project has the option on; what was begun before is left
alone. Nothing is recorded in the log until the reading is over, since the log could be looked at meanwhile. What the
reading did not mark then is an open proposal that a person decides on alone: it is neither gold by itself nor lost.
"""

from uuid import uuid4

from django.db import transaction
from django.utils import timezone

from annotations.core.events import record
from annotations.core.proposed_strings import add_strings, tally_of, uncount_strings
from annotations.domain.planting import Candidate, Found, Marked, choose, eligible, nearest, outcome
from annotations.models import (
    AnnotationSet,
    Author,
    Document,
    Event,
    Handover,
    PlantedLeak,
    Project,
    Review,
    Span,
    User,
    Verb,
)
from annotations.review.selectors.known import known_among
from annotations.review.selectors.planted import HIDDEN, drawing_key, hidden_in
from annotations.review.services.deciding import Request, decide_locked
from annotations.review.services.locking import locked
from annotations.review.services.log import Act

SHOWN = ["result", "reader", "revealed_at"]


def draw_leaks(*, document: Document, author: Author, project: Project) -> None:
    """Before a note is shown for review: decide, once and for all, what of its proposals is hidden.

    The same is done for every note, whether something is planted in it or not.
    """
    if not project.planted_share:
        return
    drawn = Review.objects.filter(document=document, author=author).values_list("planted_share", flat=True).first()
    if drawn is not None:
        return
    with transaction.atomic():
        there = AnnotationSet.objects.filter(document=document, author__kind=Author.Kind.GOLD).exists()
        review, gold = locked(document, author)
        if review.planted_share is not None:
            return
        review.planted_share = 0 if _begun(review, author, document) else project.planted_share
        review.save(update_fields=["planted_share"])
        if review.planted_share:
            _plant(review, gold, document, author, project)
        if not there and gold.version == 0 and not gold.spans.exists():
            # Made for its lock alone: nobody has decided anything on the note.
            gold.delete()


def _begun(review: Review, author: Author, document: Document) -> bool:
    """Whether somebody has seen the note's proposals on its page, or decided on one of them alone."""
    # What came of a bulk act is told by the act, and nobody has looked at this note for it.
    acts = Event.objects.filter(document_id=document.pk, data__run=author.pk).exclude(data__has_key="cause")
    seen = acts.filter(verb__in=[Verb.NOTE_READ, Verb.REVIEW_DECIDED, Verb.REVIEW_UNDONE, Verb.REVIEW_CLOSED])
    return review.closed_at is not None or Handover.objects.filter(review=review).exists() or seen.exists()


def _plant(review: Review, gold: AnnotationSet, document: Document, author: Author, project: Project) -> None:
    spans = list(
        Span.objects.filter(
            annotation_set__document=document, annotation_set__author=author,
            annotation_set__state=AnnotationSet.State.SUBMITTED,
        ).order_by("start", "end", "pk")
    )  # fmt: skip
    decided = set(review.decisions.values_list("proposal_id", flat=True))
    known = known_among([span for span in spans if span.pk not in decided], document)
    proposals = [Candidate(span.pk, span.start, span.end, known.get(span.pk, "")) for span in spans]
    candidates = eligible(document.text, proposals, [Marked(span.start, span.end) for span in gold.spans.all()])
    chosen = choose(drawing_key(project), author.pk, document.pk, project.planted_share, candidates)
    if not chosen:
        return
    hidden = tally_of(Span.objects.filter(pk__in=[one.pk for one in chosen]))
    PlantedLeak.objects.bulk_create(PlantedLeak(review=review, proposal_id=one.pk, known=one.known) for one in chosen)
    uncount_strings(hidden)


# ── Shown ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def reveal_leaks(*, review: Review, gold: AnnotationSet, document: Document, author: Author, user: User) -> None:
    """The first reader closes the note: show what was hidden, with what the reading made of it. Once and for all.

    In the caller's transaction, which holds the note. What the reader marked wholly is decided by that: the proposal
    counts as corrected to what they marked. All else is open.
    """
    planted = list(hidden_in(review).select_for_update().order_by("pk"))
    if not planted:
        return
    spans = Span.objects.in_bulk([one.proposal_id for one in planted])
    marked = [_marked(span, author) for span in gold.spans.all()]
    people = {each.username: each for each in User.objects.filter(username__in={one.by for one in marked})}
    settled: list[tuple[Span, Marked, Found]] = []
    for one in planted:
        span = spans.get(one.proposal_id)
        result, whole = outcome(document.text, span, marked) if span else (Found.ELSEWHERE, False)
        near = nearest(span, marked) if span else None
        finder = people.get(near.by) if near and result in (Found.FOUND, Found.PARTLY) else None
        one.result, one.reader, one.revealed_at = str(result), finder or user, timezone.now()
        if span and near and whole:
            settled.append((span, near, result))
    PlantedLeak.objects.bulk_update(planted, SHOWN)
    add_strings(tally_of(Span.objects.filter(pk__in=spans)))
    gold.version += 1
    gold.save(update_fields=["version", "updated_at"])
    for one in planted:
        _record(one, document, author.pk, user, gold)
    for span, near, result in settled:
        _settle(span, near, result, review, gold, document, author, user)


def _marked(span: Span, author: Author) -> Marked:
    """A gold span, and whether it is there by the reading of this run's proposals."""
    how = span.provenance or {}
    own = how.get("from") == f"{author.kind}:{author.name}" or "added" in how.get("changed", ())
    return Marked(span.start, span.end, span.label_id, own, how.get("by") or "")


def _settle(
    span: Span, near: Marked, result: Found, review: Review, gold: AnnotationSet, document: Document, author: Author,
    user: User,
) -> None:  # fmt: skip
    """Gold stays as it is: the decision only says that this proposal stands for what was marked."""
    place = near.start, near.end, near.label
    as_proposed = place == (span.start, span.end, span.label_id)
    request = Request(
        change_id=uuid4(), act=Act.ACCEPT if as_proposed else Act.CORRECT, proposal=span.pk, place=place,
        quote=document.text[near.start : near.end],
    )  # fmt: skip
    decide_locked(document, author, user, review, gold, request, planted=str(result))


def give_up_leaks(*, document: Document, source: AnnotationSet, actor: User | None) -> None:
    """A run's whole reading of the note becomes gold by another act: what is hidden of it then measures nothing."""
    rows = PlantedLeak.objects.filter(review__document=document, review__author=source.author_id, result=HIDDEN)
    planted = list(rows.select_for_update(of=("self",)).order_by("pk"))
    for one in planted:
        one.result, one.reader, one.revealed_at = Found.ELSEWHERE, actor, timezone.now()
        _record(one, document, source.author_id, actor)
    PlantedLeak.objects.bulk_update(planted, SHOWN)
    add_strings(tally_of(Span.objects.filter(pk__in=[one.proposal_id for one in planted])))


def _record(
    one: PlantedLeak, document: Document, run: int, user: User | None, gold: AnnotationSet | None = None
) -> None:
    record(
        verb=Verb.REVIEW_REVEALED,
        actor=user,
        project_id=document.project_id,
        document_id=document.pk,
        annotation_set_id=gold.pk if gold else None,
        data={
            "run": run,
            "proposal": one.proposal_id,
            "planted": str(one.result),
            "known": one.known,
            "reader": one.reader_id,
            "drawn": one.drawn_at.isoformat(timespec="seconds"),
        },
    )
