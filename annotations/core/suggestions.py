"""Rows that order the notes of a run for review.

Each note has one row with the information expected from its review and a random number, and one row for each label with
the lowest confidence and the confidence nearest to 0.5. They are written with the suggestions, so that the next note is
found without reading all suggestions.
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log2
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.utils.translation import gettext_lazy

from annotations import models
from annotations.core.bulk import batched
from annotations.core.hooks import proposed_removals

# Suggestions that are hidden from people for now: planted leaks, until the first reviewer finishes the note.


HIDDEN = ""
"""The result of a planted leak that is hidden."""
WITHHELD = gettext_lazy(
    "This project measures missed identifiers. Until the review of every note is finished, only a manager can "
    "read, export, score or compare all suggestions of a run."
)


def visible(spans: QuerySet[models.Span]) -> QuerySet[models.Span]:
    """Return these suggestions without hidden planted leaks."""
    hidden = models.PlantedLeak.objects.filter(result=HIDDEN, suggestion=OuterRef("pk"))
    return spans.exclude(Exists(hidden)) if models.PlantedLeak.objects.filter(result=HIDDEN).exists() else spans


def hidden_in(annotation_set: int) -> set[int]:
    """Return the ids of the suggestions of an annotation set that are hidden now."""
    rows = models.PlantedLeak.objects.filter(result=HIDDEN, suggestion__annotation_set=annotation_set)
    return set(rows.values_list("suggestion_id", flat=True))


def withheld(project: models.Project) -> str:
    """Why whole annotation sets of runs are withheld; empty if no planted leak is, or may still be, hidden.

    Comparing all suggestions of a run with the page of a note would reveal what is hidden. The answer depends only on
    which reviews are finished and never on what was drawn, so that the answer itself reveals nothing.
    """
    # The filter by author fits the index of reviews, in which the unfinished reviews of an author are adjacent.
    runs = list(
        models.Author.objects.filter(project=project, kind__in=models.Author.MODELS).values_list("pk", flat=True)
    )
    drawn = models.Review.objects.filter(author__in=runs, planted_share__gt=0, finished_at__isnull=True)
    return str(WITHHELD) if drawn.exists() else ""


# Expected information, in bits, of reviewing a note, from the confidences of its suggestions.
#
# A suggestion that is right with probability p gives H(p) = -p log2 p - (1-p) log2 (1-p). A string counts once per
# note, and counts less the more decisions on it there are already, because little new is learned from it.


String = tuple[int, int]
"""String key and label id."""


def bits(confidence: float | None) -> float:
    """H of a confidence; 1 without a confidence, since nothing is known then."""
    if confidence is None:
        return 1.0
    if confidence <= 0.0 or confidence >= 1.0:
        return 0.0
    return -confidence * log2(confidence) - (1 - confidence) * log2(1 - confidence)


def expected_bits(
    suggestions: Iterable[tuple[String, float | None]], decided: Mapping[String, int] | None = None
) -> float:
    """The expected bits of a note's suggestions; `decided` counts earlier decisions on each string."""
    best: dict[String, float] = {}
    for string, confidence in suggestions:
        best[string] = max(best.get(string, 0.0), bits(confidence))
    known = decided or {}
    return sum(most / (1 + known.get(string, 0)) for string, most in best.items())


BATCH = 500
_CHANCE = random.SystemRandom()


def add_notes(author: int, sets: Mapping[int, int]) -> None:
    """Add the rows of these annotation sets (id to the note's id), in the transaction that has stored their spans."""
    pks = list(sets)
    for batch in batched(pks, BATCH):
        found: dict[int, list[tuple[String, float | None]]] = {pk: [] for pk in batch}
        spans = models.Span.objects.filter(annotation_set__in=batch).order_by()
        for pk, key, label, confidence in spans.values_list(
            "annotation_set_id", "string_key", "label_id", "confidence"
        ):
            found[pk].append(((key or 0, label), confidence))
        models.SuggestedNote.objects.bulk_create(
            (
                models.SuggestedNote(
                    author_id=author,
                    document_id=sets[pk],
                    information=expected_bits(suggestions),
                    random_order=_CHANCE.random(),
                )
                for pk, suggestions in found.items()
            ),
            ignore_conflicts=True,
        )
        _add_labels(author, [sets[pk] for pk in batch])


def renew_notes(author: int, sets: Mapping[int, int]) -> None:
    """Write the rows of these annotation sets again, in the transaction that has added suggestions to them."""
    for model in (models.SuggestedNote, models.SuggestedLabel):
        model.objects.filter(author=author, document__in=sets.values()).delete()
    add_notes(author, sets)


_SPANS, _SETS = models.Span._meta.db_table, models.AnnotationSet._meta.db_table
_CONFIDENCE = "COALESCE(span.confidence, 0.5)"
_ADD_LABELS = f"""
    INSERT INTO {models.SuggestedLabel._meta.db_table} (author_id, document_id, label_id, source, lowest, nearest)
    SELECT sets.author_id, sets.document_id, span.label_id, span.source,
        MIN({_CONFIDENCE}), MIN(ABS({_CONFIDENCE} - 0.5))
    FROM {_SETS} sets JOIN {_SPANS} span ON span.annotation_set_id = sets.id
    WHERE sets.author_id = %s AND sets.document_id IN ({{documents}})
    GROUP BY sets.author_id, sets.document_id, span.label_id, span.source
"""  # noqa: S608 - names of ours


def _add_labels(author: int, documents: list[int]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_ADD_LABELS.format(documents=", ".join(["%s"] * len(documents))), [author, *documents])


def relabel_notes(source: int, target: int) -> None:
    """Move the rows of a label that was merged into another."""
    models.SuggestedLabel.objects.filter(label_id=source).update(label_id=target)


def forget_notes(sets: "QuerySet[models.AnnotationSet]") -> None:
    """Delete the rows of annotation sets that are about to be deleted."""
    here = sets.filter(author=OuterRef("author"), document=OuterRef("document"), author__kind__in=models.Author.MODELS)
    for model in (models.SuggestedNote, models.SuggestedLabel):
        model.objects.filter(Exists(here)).delete()
    models.Review.objects.filter(Exists(here), ahead=True).delete()


# Stored counts for review by string, updated in the transaction that changes suggestions.
#
# A string is identified by a run, a label and a hash (text.hashes). Where many suggestions are added, removed or
# decided, their strings are counted first, so that each row is changed once.


Key = tuple[int, int, int]
"""Author id, string key, label id."""


@dataclass(slots=True)
class StringCounts:
    """Counts to add to a string's row; `sample` is the id of one of its spans."""

    count: int = 0
    open: int = 0
    scored: int = 0
    confidence_sum: float = 0.0
    sample: int = 0

    def add(self, confidence: float | None, sample: int, *, decided: bool = False) -> None:
        self.count += 1
        self.open += not decided
        self.scored += confidence is not None
        self.confidence_sum += confidence or 0.0
        self.sample = sample


_TABLE = models.SuggestedString._meta.db_table
# One statement for both databases. The `excluded` row holds the counts to add; uncertainty follows from the new mean.
_SUM = f"({_TABLE}.confidence_sum + excluded.confidence_sum)"
_MEAN = f"{_SUM} / ({_TABLE}.scored + excluded.scored)"
_ADD = f"""
    INSERT INTO {_TABLE}
        (author_id, string_key, label_id, count, open, scored, confidence_sum, uncertainty, sample)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (author_id, string_key, label_id) DO UPDATE SET
        count = {_TABLE}.count + excluded.count,
        open = {_TABLE}.open + excluded.open,
        scored = {_TABLE}.scored + excluded.scored,
        confidence_sum = {_SUM},
        uncertainty = CASE WHEN {_TABLE}.scored + excluded.scored > 0 THEN 1 - 2 * ABS({_MEAN} - 0.5) ELSE 1 END
"""  # noqa: S608 - names of ours


def add_strings(tallies: dict[Key, StringCounts]) -> None:
    """Add counts inside the caller's transaction, in a fixed order, so that transactions don't deadlock."""
    rows = [
        (*key, each.count, each.open, each.scored, each.confidence_sum, _uncertainty(each), each.sample)
        for key, each in sorted(tallies.items())
    ]
    with connection.cursor() as cursor:
        cursor.executemany(_ADD, rows)


def _uncertainty(tally: StringCounts) -> float:
    return 1 - 2 * abs(tally.confidence_sum / tally.scored - 0.5) if tally.scored else 1.0


def tally_of(spans: "QuerySet[models.Span]") -> dict[Key, StringCounts]:
    """Count the strings of those spans that are suggestions. Hidden planted leaks don't count until they are shown."""
    found: dict[Key, StringCounts] = defaultdict(StringCounts)
    kinds = models.Author.MODELS
    rows = visible(spans).filter(string_key__isnull=False, annotation_set__author__kind__in=kinds).order_by()
    columns = ("annotation_set__author_id", "string_key", "label_id", "confidence", "pk", "decision__pk")
    for author, key, label, confidence, pk, decision in rows.values_list(*columns).iterator(chunk_size=5_000):
        found[author, key, label].add(confidence, pk, decided=decision is not None)
    return found


def uncount_strings(hidden: dict[Key, StringCounts]) -> None:
    """Subtract suggestions that are hidden for now. Rows with a count of 0 stay."""
    with connection.cursor() as cursor:
        cursor.executemany(
            f"UPDATE {_TABLE} SET count = count - %s, open = open - %s, scored = scored - %s, "  # noqa: S608
            "confidence_sum = confidence_sum - %s WHERE author_id = %s AND string_key = %s AND label_id = %s",
            [(t.count, t.open, t.scored, t.confidence_sum, *key) for key, t in sorted(hidden.items())],
        )


def remove_strings(gone: dict[Key, StringCounts]) -> None:
    """Subtract deleted suggestions, counted by `tally_of` before the deletion. Rows with a count of 0 are deleted.

    Call it after the deletion: a decision locks the note's gold first and the string's row last, and the same order
    here avoids a deadlock.
    """
    uncount_strings(gone)
    rows = models.SuggestedString.objects.filter(author_id__in={author for author, _, _ in gone})
    rows.filter(count__lte=0).delete()
    same = models.Span.objects.filter(
        annotation_set__author=OuterRef("author_id"), string_key=OuterRef("string_key"), label_id=OuterRef("label_id")
    ).order_by("start", "end", "pk")
    unshown = rows.exclude(Exists(models.Span.objects.filter(pk=OuterRef("sample"))))
    unshown.update(sample=Subquery(same.values("pk")[:1]))


def count_open(changes: dict[Key, int]) -> None:
    """Add to the number of open suggestions of each string; negative numbers subtract."""
    with connection.cursor() as cursor:
        cursor.executemany(_OPEN, [(by, *key) for key, by in sorted(changes.items()) if by])


_OPEN = f"UPDATE {_TABLE} SET open = open + %s WHERE author_id = %s AND string_key = %s AND label_id = %s"  # noqa: S608


def relabel_strings(source: int, target: int) -> None:
    """Move the counts of a label that was merged into another."""
    rows = models.SuggestedString.objects.filter(label_id=source)
    moved: dict[Key, StringCounts] = {}
    values: Any = rows.values_list("author_id", "string_key", "count", "open", "scored", "confidence_sum", "sample")
    for author, key, *counts in values:
        moved[author, key, target] = StringCounts(*counts)
    rows.delete()
    add_strings(moved)


# Annotations that a refiner proposes to remove.


class ProposedRemoval(NamedTuple):
    """An annotation that a refiner removed. `number` is unique in the note. Offsets in code points, end-exclusive.

    `origin` is the author who annotated it, as “kind:name”. `reason` is the refiner's.
    """

    number: int
    start: int
    end: int
    label_id: int
    reason: str
    origin: str


def removals_of(author: models.Author, document: models.Document) -> list[ProposedRemoval]:
    """Return the annotations that this author proposes to remove from the note. Only refiners propose any."""
    if author.kind != models.AuthorKind.REFINED:
        return []
    return [one for answer in proposed_removals(author=author, document=document) for one in answer]
