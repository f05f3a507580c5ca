"""The order "most to learn": by expected information, with every so manieth note drawn by chance from all of the run's.

What is chosen since it is doubtful says nothing of the rest. The notes drawn by chance do: they are a beginning of one
order of all the run's notes, made when they were read, so that how often a run is right among them holds for all. A
note whose turn it is in that order and that was reviewed already counts as drawn.
"""

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from annotations.core.gold_sets import gold_sets
from annotations.core.proposed_notes import complete
from annotations.domain.information import String, expected_bits
from annotations.models import (
    AnnotationSet,
    Author,
    Handover,
    Project,
    ProposedNote,
    ProposedString,
    Review,
    Span,
    User,
)
from annotations.review.selectors.bulk_rules import only_open
from annotations.review.selectors.handovers import handed_on_by
from annotations.review.selectors.reviewing import next_to_review

# One note in so many is drawn by chance.
ONE_IN = 5
# Notes are looked at so many at a time, at most so many times: what a note told at first is the most it can tell now.
LOOK, LOOKS = 20, 5
KEYS = 500
Drawn = Review.Drawn


def next_offered(*, author: Author, project: Project, after: int = 0, user: User | None = None) -> int | None:
    """The note to review next, another than `after` where there is one; how it was chosen is kept with its review.

    Not one that `user` handed on to a second reviewer.

    None where every note's review is closed.
    """
    with transaction.atomic():
        # Two reviewers who ask at once don't draw twice.
        Author.objects.select_for_update().get(pk=author.pk)
        complete(author)
        held = handed_on_by(user, author)
        found = _by_chance(author, after, held)
        if found is None:
            found = _by_information(author, project, after, held)
            if found is not None:
                _mark(author, found, Drawn.INFORMATION)
    return found if found is not None else next_to_review(author, after, user)


def _mark(author: Author, document: int, drawn: Review.Drawn) -> Review:
    review = Review.objects.get_or_create(document_id=document, author=author, defaults={"drawn": drawn})[0]
    if review.drawn != drawn and (drawn == Drawn.CHANCE or not review.drawn):
        review.drawn = drawn
        review.save(update_fields=["drawn"])
    return review


def _notes(author: Author) -> "QuerySet[ProposedNote]":
    """The run's notes, without those that became gold by other means than this review."""
    gold = gold_sets(author.project).filter(document=OuterRef("document"))
    read = AnnotationSet.objects.filter(
        document=OuterRef("document"), author=author, state=AnnotationSet.State.SUBMITTED
    )
    return ProposedNote.objects.filter(Exists(_reviews(author)) | ~Exists(gold), Exists(read), author=author)


def _reviews(author: Author) -> "QuerySet[Review]":
    return Review.objects.filter(author=author, document=OuterRef("document"))


def _by_chance(author: Author, after: int, held: "QuerySet[Handover, int]") -> int | None:
    """A drawn note that waits, or where one is due the next by chance; one that was reviewed before is drawn too."""
    reviews = Review.objects.filter(author=author)
    waiting = reviews.filter(drawn=Drawn.CHANCE, closed_at__isnull=True).exclude(document=after)
    waiting = waiting.exclude(document__in=held)
    if (found := waiting.order_by("pk").values_list("document_id", flat=True).first()) is not None:
        return found
    closed = reviews.filter(closed_at__isnull=False)
    offered = closed.exclude(drawn="").count()
    chance = closed.filter(drawn=Drawn.CHANCE).count()
    left = _notes(author).filter(~Exists(_reviews(author).filter(drawn=Drawn.CHANCE))).order_by("place", "pk")
    while chance * ONE_IN <= offered:
        document = left.values_list("document_id", flat=True).first()
        if document is None:
            return None
        was_offered = reviews.filter(document=document).exclude(drawn="").exists()
        review = _mark(author, document, Drawn.CHANCE)
        if review.closed_at is None:
            return document if document != after and document not in held else None
        chance, offered = chance + 1, offered + (not was_offered)
    return None


def _by_information(author: Author, project: Project, after: int, held: "QuerySet[Handover, int]") -> int | None:
    """The note that tells the most now. Notes come by what they told when they were read, which is never less."""
    closed = _reviews(author).filter(closed_at__isnull=False)
    notes = _notes(author).filter(~Exists(closed)).exclude(document=after).order_by("-information", "pk")
    notes = notes.exclude(document__in=held)
    best: tuple[float, int] | None = None
    for at in range(0, LOOK * LOOKS, LOOK):
        bounds = dict(notes.values_list("document_id", "information")[at : at + LOOK])
        if not bounds or (best is not None and best[0] >= max(bounds.values())):
            break
        for document, told in _told(author, project, list(bounds)).items():
            if best is None or told > best[0]:
                best = (told, document)
    return best[1] if best is not None else None


def _told(author: Author, project: Project, documents: list[int]) -> dict[int, float]:
    """What each of these notes is expected to tell now: its open proposals, less what is known of their strings."""
    sets = AnnotationSet.objects.filter(author=author, document__in=documents, state=AnnotationSet.State.SUBMITTED)
    spans = only_open(Span.objects.filter(annotation_set__in=list(sets.values_list("pk", flat=True))), project, None)
    found: dict[int, list[tuple[String, float | None]]] = {document: [] for document in documents}
    rows = spans.order_by().values_list("annotation_set__document_id", "string_key", "label_id", "confidence")
    for document, key, label, confidence in rows:
        found[document].append(((key or 0, label), confidence))
    keys = sorted({string[0] for proposals in found.values() for string, _confidence in proposals})
    decided: dict[String, int] = {}
    for at in range(0, len(keys), KEYS):
        known = ProposedString.objects.filter(
            Q(open__lt=F("count")), author=author, string_key__in=keys[at : at + KEYS]
        )
        decided |= {(key, label): count - left for key, label, count, left in known.values_list(
            "string_key", "label_id", "count", "open"
        )}  # fmt: skip
    return {document: expected_bits(proposals, decided) for document, proposals in found.items()}
