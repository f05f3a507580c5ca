"""What changed between two frozen gold versions."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import QuerySet

from annotations.core.spans import Stored, pairs_of, stored
from annotations.core.stored_figures import FigureKind, keep, kept, key_of
from annotations.gold.rules import ChangeKind, diff
from annotations.models import GoldVersion, GoldVersionNote
from annotations.text.spans import Span

# Up to this many notes are read by their ids; for more, all notes are read by one query.
BATCH = 500
REVISION = 3
# The maximum number of changes that are stored and shown; all changes are counted.
MOST_CHANGES = 50_000

FrozenSpan = tuple[int, int, str] | tuple[int, int, str, Stored]
"""Start, end (code points, end-exclusive), label code, and attributes if the span has some.

A list of the same values after it was stored as JSON.
"""
Pair = tuple[int, list[Span], list[Span]]
"""A note, its spans before and after."""


@dataclass(frozen=True)
class GoldChanges:
    """What changed from one version to another.

    `spans` counts changes by kind. `added` and `removed` list notes with their number of spans. A change is
    [note, kind, span before or null, span after or null], with spans as [start, end, label].
    """

    before: int
    after: int
    notes: dict[str, int]
    erased: dict[str, int]
    spans: dict[str, int]
    added: list[list[int]]
    removed: list[list[int]]
    changes: list[Any]


DIFF: FigureKind[dict[str, Any]] = FigureKind("gold-diff")


def version_diff(before: GoldVersion, after: GoldVersion) -> GoldChanges:
    """Count and list the changes between two versions, and store them.

    A span in a change has attributes as a fourth item if it has some. Spans are compared in notes that both versions
    contain. `added` and `removed` list the notes that only one version contains. Erased notes are in neither list; each
    version records how many of its notes were erased.
    """
    states = [
        [version.pk, version.content_hash, version.erased_count, version.notes.count()] for version in (before, after)
    ]
    key = key_of(REVISION, states)
    known = kept(before.project, DIFF, key)
    if known is not None:
        return GoldChanges(**known)
    found = _diff(before, after)
    keep(before.project, DIFF, key, asdict(found))
    return found


def _diff(before: GoldVersion, after: GoldVersion) -> GoldChanges:
    old, new = (set(version.notes.values_list("document_id", flat=True)) for version in (before, after))
    kinds: Counter[str] = Counter({str(kind): 0 for kind in ChangeKind})
    changes: list[Any] = []
    changed_notes = 0
    both = sorted(old & new)
    for note, old_spans, new_spans in _changed(before, after, both):
        found = diff(old_spans, new_spans)
        changed_notes += bool(found)
        kinds.update(str(change.kind) for change in found)
        changes += [
            (note, str(change.kind), _row(change.before), _row(change.after))
            for change in found[: max(0, MOST_CHANGES - len(changes))]
        ]
    return GoldChanges(
        before=before.number,
        after=after.number,
        notes={"both": len(both), "changed": changed_notes, "added": len(new - old), "removed": len(old - new)},
        erased={"before": before.erased_count, "after": after.erased_count},
        spans={str(kind): n for kind, n in kinds.items()},
        added=_span_counts(after, new - old),
        removed=_span_counts(before, old - new),
        changes=changes,
    )


def _changed(before: GoldVersion, after: GoldVersion, notes: list[int]) -> Iterator[Pair]:
    """Yield each note whose spans differ, with its spans before and after."""
    for at in range(0, len(notes), BATCH):
        batch = notes[at : at + BATCH]
        old, new = (_frozen(version, batch) for version in (before, after))
        for note in batch:
            if old[note] != new[note]:
                yield note, list(map(_span, old[note])), list(map(_span, new[note]))


def _span_counts(version: GoldVersion, notes: Collection[int]) -> list[list[int]]:
    """Return [note, number of spans] for each note."""
    rows = _rows(version, notes).order_by("document_id").iterator(chunk_size=BATCH)
    return [[note, len(spans)] for note, spans in rows if note in notes]


def _rows(version: GoldVersion, notes: Collection[int]) -> "QuerySet[GoldVersionNote, Any]":
    """Query id and spans of these notes in the version; of all its notes if there are too many for one query."""
    rows = GoldVersionNote.objects.filter(version=version).order_by()
    if len(notes) <= BATCH:
        rows = rows.filter(document__in=list(notes))
    return rows.values_list("document_id", "spans")


def _frozen(version: GoldVersion, notes: Collection[int]) -> dict[int, list[FrozenSpan]]:
    """Return the spans of these notes in the version, without notes that it lacks."""
    return {
        note: [(span[0], span[1], span[2], *span[4:]) for span in spans]
        for note, spans in _rows(version, notes).iterator(chunk_size=BATCH)
        if note in notes
    }


def _span(row: FrozenSpan) -> Span:
    return Span(row[0], row[1], row[2], attributes=pairs_of(row[3] if len(row) > 3 else None))


def _row(span: Span | None) -> FrozenSpan | None:
    if span is None:
        return None
    given = stored(span.attributes)
    return (span.start, span.end, span.label, given) if given else (span.start, span.end, span.label)
