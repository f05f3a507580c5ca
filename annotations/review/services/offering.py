"""The order "most to learn": notes by expected information, mixed with notes drawn at random from the whole run.

Notes chosen for their uncertainty are no sample of the run. The notes drawn at random are: they come from the start of
one random order of all notes, fixed when the run processed them, so precision among them is an unbiased estimate for
the run. A note that is due in the random order and was reviewed before counts as drawn.
"""

from typing import NamedTuple

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from annotations.core.authors import gold_sets
from annotations.core.suggestions import String, expected_bits
from annotations.models import (
    AnnotationSet,
    AnnotationSetState,
    Author,
    Handover,
    Project,
    Review,
    Span,
    SuggestedNote,
    SuggestedString,
    User,
)
from annotations.review.selectors.bulk_rules import only_open
from annotations.review.selectors.handovers import notes_handed_over_by
from annotations.review.selectors.ordering import NoteOrder
from annotations.review.selectors.reviewing import next_to_review

# One note in this many is drawn at random.
ONE_IN = 5
# Notes per look, and the largest number of looks. Few looks suffice, because a note's information only decreases.
LOOK, LOOKS = 20, 5
KEYS = 500
Drawn = Review.Drawn
# How notes are chosen that this order offers.
OFFERED = (Drawn.INFORMATION, Drawn.CHANCE)


def next_offered(*, author: Author, project: Project, after: int = 0, user: User | None = None) -> int | None:
    """The id of the note to review next, other than `after` if possible; None if every review is finished.

    Notes that `user` handed over to a second reviewer are left out. `keep_order` stores how a note was chosen.
    """
    held = notes_handed_over_by(user, author)
    waiting = Review.objects.filter(author=author, drawn=Drawn.CHANCE, finished_at__isnull=True)
    waiting = waiting.exclude(document=after).exclude(document__in=held).order_by("pk")
    if (found := waiting.values_list("document_id", flat=True).first()) is not None:
        return found
    drawn = _draw(author, held).note
    if drawn is not None and drawn != after:
        return drawn
    found = _by_information(author, project, after, held)
    return found if found is not None else next_to_review(author, after, user)


def keep_order(*, author: Author, document: int, user: User, queue: NoteOrder) -> None:
    """Store how the note was chosen, in the transaction in which a reviewer finishes its review the first time.

    `queue` is the order that chose it. Nothing is stored if it was not chosen for its suggestions. Of the order "most
    to learn", notes before it in the random order that were reviewed already are stored as drawn at random, too. So is
    this note if it is due in the random order. Apart from that, what was stored before is kept.
    """
    if queue.order == "informative":
        _keep_draw(author, document, user)
    elif not queue.plain:
        Review.objects.filter(author=author, document=document, drawn="").update(drawn=Drawn.ORDER)


def _keep_draw(author: Author, document: int, user: User) -> None:
    # The lock keeps two reviewers who finish two notes at once from counting one draw twice.
    Author.objects.select_for_update().get(pk=author.pk)
    draw = _draw(author, notes_handed_over_by(user, author))
    reviews = Review.objects.filter(author=author)
    reviews.filter(document__in=draw.reviewed).update(drawn=Drawn.CHANCE)
    if draw.note == document:
        reviews.filter(document=document).update(drawn=Drawn.CHANCE)
    else:
        reviews.filter(document=document, drawn="").update(drawn=Drawn.INFORMATION)


def _notes(author: Author) -> "QuerySet[SuggestedNote]":
    """The run's notes, without notes whose gold was made by other means than this review."""
    gold = gold_sets(author.project).filter(document=OuterRef("document"))
    read = AnnotationSet.objects.filter(
        document=OuterRef("document"), author=author, state=AnnotationSetState.SUBMITTED
    )
    begun = _reviews(author).filter(ahead__isnull=True)
    return SuggestedNote.objects.filter(Exists(begun) | ~Exists(gold), Exists(read), author=author)


def _reviews(author: Author) -> "QuerySet[Review]":
    return Review.objects.filter(author=author, document=OuterRef("document"))


class _Draw(NamedTuple):
    """`note`: the note drawn at random that is due, if any. `reviewed`: notes before it that count as drawn."""

    reviewed: list[int]
    note: int | None


def _draw(author: Author, held: "QuerySet[Handover, int]") -> _Draw:
    reviews = Review.objects.filter(author=author)
    finished = reviews.filter(finished_at__isnull=False)
    offered = finished.filter(drawn__in=OFFERED).count()
    chance = finished.filter(drawn=Drawn.CHANCE).count()
    left = _notes(author).filter(~Exists(_reviews(author).filter(drawn=Drawn.CHANCE)))
    left = left.exclude(document__in=held).order_by("random_order", "pk")
    was_finished = Exists(_reviews(author).filter(finished_at__isnull=False))
    was_offered = Exists(_reviews(author).filter(drawn__in=OFFERED))
    reviewed: list[int] = []
    rows = left.values_list("document_id", was_finished, was_offered)
    for document, is_finished, counted in rows.iterator(chunk_size=LOOK):
        if chance * ONE_IN > offered:
            break
        if not is_finished:
            return _Draw(reviewed, document)
        reviewed.append(document)
        chance, offered = chance + 1, offered + (not counted)
    return _Draw(reviewed, None)


def _by_information(author: Author, project: Project, after: int, held: "QuerySet[Handover, int]") -> int | None:
    """The note with the highest expected information now, searched in the order of the stored upper bounds."""
    finished = _reviews(author).filter(finished_at__isnull=False)
    notes = _notes(author).filter(~Exists(finished)).exclude(document=after).order_by("-information", "pk")
    notes = notes.exclude(document__in=held)
    best: tuple[float, int] | None = None
    for at in range(0, LOOK * LOOKS, LOOK):
        bounds = dict(notes.values_list("document_id", "information")[at : at + LOOK])
        if not bounds or (best is not None and best[0] >= max(bounds.values())):
            break
        for document, bits in _expected_information(author, project, list(bounds)).items():
            if best is None or bits > best[0]:
                best = (bits, document)
    return best[1] if best is not None else None


def _expected_information(author: Author, project: Project, documents: list[int]) -> dict[int, float]:
    """The expected information of each of these notes now, in bits.

    It comes from the open suggestions, and decreases with the number of decisions on the same strings.
    """
    sets = AnnotationSet.objects.filter(author=author, document__in=documents, state=AnnotationSetState.SUBMITTED)
    spans = only_open(Span.objects.filter(annotation_set__in=list(sets.values_list("pk", flat=True))), project, None)
    found: dict[int, list[tuple[String, float | None]]] = {document: [] for document in documents}
    rows = spans.order_by().values_list("annotation_set__document_id", "string_key", "label_id", "confidence")
    for document, key, label, confidence in rows:
        found[document].append(((key or 0, label), confidence))
    keys = sorted({string[0] for suggestions in found.values() for string, _confidence in suggestions})
    decided: dict[String, int] = {}
    for at in range(0, len(keys), KEYS):
        known = SuggestedString.objects.filter(
            Q(open__lt=F("count")), author=author, string_key__in=keys[at : at + KEYS]
        )
        decided |= {(key, label): count - left for key, label, count, left in known.values_list(
            "string_key", "label_id", "count", "open"
        )}  # fmt: skip
    return {document: expected_bits(suggestions, decided) for document, suggestions in found.items()}
