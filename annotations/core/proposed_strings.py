"""The prepared counts behind the review by string, changed in the transaction of whatever changes proposals.

A string is a number (domain.strings) under one label of one run. Where many proposals come, go or are decided, their
strings are counted first and each row is changed once.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet

from annotations.core.hiding import shown
from annotations.models import AnnotationSet, Author, ProposedString, Span

Key = tuple[int, int, int]
"""Author id, string key, label id."""


@dataclass(slots=True)
class Tally:
    """What is added to a string's row; `sample` is a span of it."""

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


_TABLE = ProposedString._meta.db_table
# One statement for both databases. The excluded row holds what is to be added; uncertainty is that of the new mean.
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
    """Inside the caller's transaction. In one order, so that two who add the same strings don't wait for each other."""
    rows = [
        (*key, each.count, each.open, each.scored, each.confidence_sum, _uncertainty(each), each.sample)
        for key, each in sorted(tallies.items())
    ]
    with connection.cursor() as cursor:
        cursor.executemany(_ADD, rows)


def _uncertainty(tally: Tally) -> float:
    return 1 - 2 * abs(tally.confidence_sum / tally.scored - 0.5) if tally.scored else 1.0


def tally_of(spans: "QuerySet[Span]") -> dict[Key, Tally]:
    """The strings of these spans, as far as they are proposals; planted leaks are counted once they are shown."""
    found: dict[Key, Tally] = defaultdict(Tally)
    rows = shown(spans).filter(string_key__isnull=False, annotation_set__author__kind__in=Author.MODELS).order_by()
    columns = ("annotation_set__author_id", "string_key", "label_id", "confidence", "pk", "decision__pk")
    for author, key, label, confidence, pk, decision in rows.values_list(*columns).iterator(chunk_size=5_000):
        found[author, key, label].add(confidence, pk, decided=decision is not None)
    return found


def uncount_strings(hidden: dict[Key, Tally]) -> None:
    """These proposals stay and don't count for now; a row that nothing is counted in stays too."""
    with connection.cursor() as cursor:
        cursor.executemany(
            f"UPDATE {_TABLE} SET count = count - %s, open = open - %s, scored = scored - %s, "  # noqa: S608
            "confidence_sum = confidence_sum - %s WHERE author_id = %s AND string_key = %s AND label_id = %s",
            [(t.count, t.open, t.scored, t.confidence_sum, *key) for key, t in sorted(hidden.items())],
        )


def remove_strings(gone: dict[Key, Tally]) -> None:
    """Proposals that were counted by `tally_of` are deleted now. A row that nothing is left of goes too.

    After the deletion: who decides holds the note's gold first and a string's row last, and this must not be the other
    way round.
    """
    uncount_strings(gone)
    rows = ProposedString.objects.filter(author_id__in={author for author, _, _ in gone})
    rows.filter(count__lte=0).delete()
    for row in rows.exclude(Exists(Span.objects.filter(pk=OuterRef("sample")))):
        same = Span.objects.filter(
            annotation_set__author=row.author_id, string_key=row.string_key, label_id=row.label_id
        )
        row.sample = same.values_list("pk", flat=True)[0]
        row.save(update_fields=["sample"])


def count_open_of(proposal: int, by: int) -> None:
    """So many more (or fewer) of one proposal's string are open."""
    with connection.cursor() as cursor:
        cursor.execute(_OPEN_OF, [by, proposal])


_SPANS, _SETS = Span._meta.db_table, AnnotationSet._meta.db_table
_OPEN_OF = f"""
    UPDATE {_TABLE} SET open = open + %s WHERE id = (
        SELECT s.id FROM {_SPANS} p JOIN {_SETS} a ON a.id = p.annotation_set_id
        JOIN {_TABLE} s ON s.author_id = a.author_id AND s.string_key = p.string_key AND s.label_id = p.label_id
        WHERE p.id = %s)
"""  # noqa: S608


def count_open(changes: dict[Key, int]) -> None:
    """So many more (or fewer) of each string are open."""
    with connection.cursor() as cursor:
        cursor.executemany(_OPEN, [(by, *key) for key, by in sorted(changes.items()) if by])


_OPEN = f"UPDATE {_TABLE} SET open = open + %s WHERE author_id = %s AND string_key = %s AND label_id = %s"  # noqa: S608


def relabel_strings(source: int, target: int) -> None:
    """A label was merged into another: its strings count for that one."""
    rows = ProposedString.objects.filter(label_id=source)
    moved: dict[Key, Tally] = {}
    values: Any = rows.values_list("author_id", "string_key", "count", "open", "scored", "confidence_sum", "sample")
    for author, key, *counts in values:
        moved[author, key, target] = Tally(*counts)
    rows.delete()
    add_strings(moved)
