"""What the notes that were drawn by chance say of a run: how often it is right, and how much of gold it found."""

from collections.abc import Iterable
from dataclasses import dataclass

from annotations.core.gold_sets import gold_sets
from annotations.domain.precision import Estimate, by_notes
from annotations.models import AnnotationSet, Author, Review, Span

BATCH = 500


@dataclass(frozen=True, slots=True)
class Drawn:
    """`right` of what it proposed, `found` of what is in gold, in the notes drawn by chance and read to their end."""

    run: Author
    right: Estimate
    found: Estimate

    @property
    def notes(self) -> int:
        return self.right.notes


def drawn_of(runs: Iterable[Author]) -> list[Drawn]:
    """Only the runs of which notes were drawn and closed."""
    return [drawn for run in runs if (drawn := _drawn(run)).notes]


def _drawn(run: Author) -> Drawn:
    closed = Review.objects.filter(author=run, drawn=Review.Drawn.CHANCE, closed_at__isnull=False)
    documents = list(closed.order_by("document").values_list("document_id", flat=True))
    right, found = [], []
    for at in range(0, len(documents), BATCH):
        batch = documents[at : at + BATCH]
        sets = AnnotationSet.objects.filter(author=run, document__in=batch, state=AnnotationSet.State.SUBMITTED)
        proposed = _places(list(sets.values_list("pk", flat=True)))
        gold = _places(list(gold_sets(run.project).filter(document__in=batch).values_list("pk", flat=True)))
        for document in batch:
            ours, theirs = proposed.get(document, set()), gold.get(document, set())
            right.append((len(ours & theirs), len(ours)))
            found.append((len(ours & theirs), len(theirs)))
    return Drawn(run, by_notes(right), by_notes(found))


def _places(sets: list[int]) -> dict[int, set[tuple[int, int, int]]]:
    places: dict[int, set[tuple[int, int, int]]] = {}
    rows = Span.objects.filter(annotation_set__in=sets).order_by()
    for document, start, end, label in rows.values_list("annotation_set__document_id", "start", "end", "label_id"):
        places.setdefault(document, set()).add((start, end, label))
    return places
