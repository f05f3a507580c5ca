"""What changed between two frozen gold versions."""

from collections import Counter
from collections.abc import Iterator
from typing import TypedDict

from annotations.core.spans import Stored, pairs_of, stored
from annotations.core.stored_figures import FigureKind, keep, kept, key_of
from annotations.gold.rules import ChangeKind, diff
from annotations.models import GoldVersion, GoldVersionNote
from annotations.text.spans import Span

BATCH = 500
REVISION = 3
# The maximum number of changes that are stored and shown; all changes are counted.
MOST_CHANGES = 50_000

FrozenSpan = tuple[int, int, str] | tuple[int, int, str, Stored]
"""Start, end (code points, end-exclusive), label code, and attributes if the span has some.

A list of the same values after it was stored as JSON.
"""
Changed = tuple[int, str, FrozenSpan | None, FrozenSpan | None]
"""Note, kind of change, before, after."""


class NoteCounts(TypedDict):
    both: int
    changed: int
    added: int
    removed: int


class Erased(TypedDict):
    before: int
    after: int


class VersionDiff(TypedDict):
    """`added` and `removed` list [note, number of spans]; `spans` counts changes by kind."""

    before: int
    after: int
    notes: NoteCounts
    erased: Erased
    spans: dict[str, int]
    added: list[list[int]]
    removed: list[list[int]]
    changes: list[Changed]


DIFF: FigureKind[VersionDiff] = FigureKind("gold-diff")


def version_diff(before: GoldVersion, after: GoldVersion) -> VersionDiff:
    """Count and list the changes between two versions.

    A change is [note, kind, before or null, after or null], and a span in it is [start, end, label], with attributes as
    a fourth item if it has some. Spans are compared in notes that both versions contain. `added` and `removed` list the
    notes that only one version contains. Erased notes are in neither list; each version records how many of its notes
    were erased.
    """
    states = [
        [version.pk, version.content_hash, version.erased_count, version.notes.count()] for version in (before, after)
    ]
    key = key_of(REVISION, states)
    found = kept(before.project, DIFF, key)
    if found is None:
        found = _diff(before, after)
        keep(before.project, DIFF, key, found)
    return found


def _diff(before: GoldVersion, after: GoldVersion) -> VersionDiff:
    old = set(before.notes.values_list("document_id", flat=True))
    new = set(after.notes.values_list("document_id", flat=True))
    kinds: Counter[str] = Counter({str(kind): 0 for kind in ChangeKind})
    changes: list[Changed] = []
    changed_notes = 0
    both = sorted(old & new)
    for note, old_spans, new_spans in _pairs(before, after, both):
        found = diff(old_spans, new_spans)
        changed_notes += bool(found)
        kinds.update(str(change.kind) for change in found)
        changes += [
            (note, str(change.kind), _row(change.before), _row(change.after))
            for change in found[: max(0, MOST_CHANGES - len(changes))]
        ]
    return {
        "before": before.number,
        "after": after.number,
        "notes": {"both": len(both), "changed": changed_notes, "added": len(new - old), "removed": len(old - new)},
        "erased": {"before": before.erased_count, "after": after.erased_count},
        "spans": {str(kind): n for kind, n in kinds.items()},
        "added": _span_counts(after, sorted(new - old)),
        "removed": _span_counts(before, sorted(old - new)),
        "changes": changes,
    }


def _pairs(before: GoldVersion, after: GoldVersion, notes: list[int]) -> Iterator[tuple[int, list[Span], list[Span]]]:
    """Yield each note whose spans differ, with its spans before and after."""
    for at in range(0, len(notes), BATCH):
        batch = notes[at : at + BATCH]
        old, new = (_spans(version, batch) for version in (before, after))
        for note in batch:
            if old[note] != new[note]:
                yield note, [_span(row) for row in old[note]], [_span(row) for row in new[note]]


def _span(row: FrozenSpan) -> Span:
    return Span(row[0], row[1], row[2], attributes=pairs_of(row[3] if len(row) > 3 else None))


def _spans(version: GoldVersion, notes: list[int]) -> dict[int, list[FrozenSpan]]:
    rows = GoldVersionNote.objects.filter(version=version, document__in=notes)
    return {
        note: [(span[0], span[1], span[2], *span[4:]) for span in spans]
        for note, spans in rows.values_list("document_id", "spans")
    }


def _span_counts(version: GoldVersion, notes: list[int]) -> list[list[int]]:
    """Return [note, number of spans] for each note."""
    found = []
    for at in range(0, len(notes), BATCH):
        spans = _spans(version, notes[at : at + BATCH])
        found += [[note, len(spans[note])] for note in notes[at : at + BATCH]]
    return found


def _row(span: Span | None) -> FrozenSpan | None:
    if span is None:
        return None
    given = stored(span.attributes)
    return (span.start, span.end, span.label, given) if given else (span.start, span.end, span.label)
