"""Precision and recall of a run, estimated on the notes that were drawn at random."""

from collections.abc import Iterable
from dataclasses import dataclass

from annotations.core.authors import gold_sets
from annotations.models import AnnotationSet, AnnotationSetState, Author, Review, Span
from annotations.review.rules.precision import Estimate, by_notes

BATCH = 500


@dataclass(frozen=True, slots=True)
class DrawnPrecision:
    """Precision (`right`) and recall (`found`) of a run on notes drawn at random whose review is finished."""

    run: Author
    right: Estimate
    found: Estimate

    @property
    def notes(self) -> int:
        return self.right.notes


def drawn_of(runs: Iterable[Author]) -> list[DrawnPrecision]:
    """The estimates of each run that has at least one finished note in its random sample."""
    return [drawn for run in runs if (drawn := _drawn(run)).notes]


def _drawn(run: Author) -> DrawnPrecision:
    finished = Review.objects.filter(author=run, drawn=Review.Drawn.CHANCE, finished_at__isnull=False)
    documents = list(finished.order_by("document").values_list("document_id", flat=True))
    right, found = [], []
    for at in range(0, len(documents), BATCH):
        batch = documents[at : at + BATCH]
        sets = AnnotationSet.objects.filter(author=run, document__in=batch, state=AnnotationSetState.SUBMITTED)
        suggested = _spans_of(list(sets.values_list("pk", flat=True)))
        gold = _spans_of(list(gold_sets(run.project).filter(document__in=batch).values_list("pk", flat=True)))
        for document in batch:
            in_run, in_gold = suggested.get(document, set()), gold.get(document, set())
            right.append((len(in_run & in_gold), len(in_run)))
            found.append((len(in_run & in_gold), len(in_gold)))
    return DrawnPrecision(run, by_notes(right), by_notes(found))


def _spans_of(sets: list[int]) -> dict[int, set[tuple[int, int, int]]]:
    """The spans of these annotation sets by note: start, end, label id."""
    spans: dict[int, set[tuple[int, int, int]]] = {}
    rows = Span.objects.filter(annotation_set__in=sets).order_by()
    for document, start, end, label in rows.values_list("annotation_set__document_id", "start", "end", "label_id"):
        spans.setdefault(document, set()).add((start, end, label))
    return spans
