"""Stored counts for review by string, updated in the transaction that changes suggestions.

A string is identified by a run, a label and a hash (domain.strings). Where many suggestions are added, removed or
decided, their strings are counted first, so that each row is changed once.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet, Subquery

from annotations.core.hiding import shown
from annotations.models import Author, Span, SuggestedString

Key = tuple[int, int, int]
"""Author id, string key, label id."""


@dataclass(slots=True)
class Tally:
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


_TABLE = SuggestedString._meta.db_table
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


def add_strings(tallies: dict[Key, Tally]) -> None:
    """Add counts inside the caller's transaction, in a fixed order, so that transactions don't deadlock."""
    rows = [
        (*key, each.count, each.open, each.scored, each.confidence_sum, _uncertainty(each), each.sample)
        for key, each in sorted(tallies.items())
    ]
    with connection.cursor() as cursor:
        cursor.executemany(_ADD, rows)


def _uncertainty(tally: Tally) -> float:
    return 1 - 2 * abs(tally.confidence_sum / tally.scored - 0.5) if tally.scored else 1.0


def tally_of(spans: "QuerySet[Span]") -> dict[Key, Tally]:
    """Count the strings of those spans that are suggestions. Hidden planted leaks don't count until they are shown."""
    found: dict[Key, Tally] = defaultdict(Tally)
    rows = shown(spans).filter(string_key__isnull=False, annotation_set__author__kind__in=Author.MODELS).order_by()
    columns = ("annotation_set__author_id", "string_key", "label_id", "confidence", "pk", "decision__pk")
    for author, key, label, confidence, pk, decision in rows.values_list(*columns).iterator(chunk_size=5_000):
        found[author, key, label].add(confidence, pk, decided=decision is not None)
    return found


def uncount_strings(hidden: dict[Key, Tally]) -> None:
    """Subtract suggestions that are hidden for now. Rows with a count of 0 stay."""
    with connection.cursor() as cursor:
        cursor.executemany(
            f"UPDATE {_TABLE} SET count = count - %s, open = open - %s, scored = scored - %s, "  # noqa: S608
            "confidence_sum = confidence_sum - %s WHERE author_id = %s AND string_key = %s AND label_id = %s",
            [(t.count, t.open, t.scored, t.confidence_sum, *key) for key, t in sorted(hidden.items())],
        )


def remove_strings(gone: dict[Key, Tally]) -> None:
    """Subtract deleted suggestions, counted by `tally_of` before the deletion. Rows with a count of 0 are deleted.

    Call it after the deletion: a decision locks the note's gold first and the string's row last, and the same order
    here avoids a deadlock.
    """
    uncount_strings(gone)
    rows = SuggestedString.objects.filter(author_id__in={author for author, _, _ in gone})
    rows.filter(count__lte=0).delete()
    same = Span.objects.filter(
        annotation_set__author=OuterRef("author_id"), string_key=OuterRef("string_key"), label_id=OuterRef("label_id")
    ).order_by("start", "end", "pk")
    unshown = rows.exclude(Exists(Span.objects.filter(pk=OuterRef("sample"))))
    unshown.update(sample=Subquery(same.values("pk")[:1]))


def count_open(changes: dict[Key, int]) -> None:
    """Add to the number of open suggestions of each string; negative numbers subtract."""
    with connection.cursor() as cursor:
        cursor.executemany(_OPEN, [(by, *key) for key, by in sorted(changes.items()) if by])


_OPEN = f"UPDATE {_TABLE} SET open = open + %s WHERE author_id = %s AND string_key = %s AND label_id = %s"  # noqa: S608


def relabel_strings(source: int, target: int) -> None:
    """Move the counts of a label that was merged into another."""
    rows = SuggestedString.objects.filter(label_id=source)
    moved: dict[Key, Tally] = {}
    values: Any = rows.values_list("author_id", "string_key", "count", "open", "scored", "confidence_sum", "sample")
    for author, key, *counts in values:
        moved[author, key, target] = Tally(*counts)
    rows.delete()
    add_strings(moved)
