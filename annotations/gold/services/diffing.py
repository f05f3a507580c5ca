"""What changed between two frozen gold versions."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from annotations.core.kept import keep, kept, key_of
from annotations.domain.gold_diff import ChangeKind, diff
from annotations.domain.spans import Span
from annotations.models import GoldVersion, GoldVersionNote

BATCH = 500
REVISION = 1
# Changes that are kept for looking at; of more, the first.
MOST_CHANGES = 50_000


def version_diff(before: GoldVersion, after: GoldVersion) -> dict[str, Any]:
    """Counts, and every change as [note, kind, before or null, after or null]; spans are [start, end, label].

    Spans are compared in notes that both versions hold. Notes that only one holds are in `added` and `removed` with
    how many spans they have; notes that were erased are in neither, and each version says how many it lost.
    """
    marks = [
        [version.pk, version.content_hash, version.erased_count, version.notes.count()] for version in (before, after)
    ]
    key = key_of(REVISION, marks)
    found: dict[str, Any] | None = kept(before.project, "gold-diff", key)
    if found is None:
        found = _diff(before, after)
        keep(before.project, "gold-diff", key, found)
    return found


def _diff(before: GoldVersion, after: GoldVersion) -> dict[str, Any]:
    old = set(before.notes.values_list("document_id", flat=True))
    new = set(after.notes.values_list("document_id", flat=True))
    kinds: Counter[str] = Counter({str(kind): 0 for kind in ChangeKind})
    changes: list[list[Any]] = []
    changed_notes = 0
    both = sorted(old & new)
    for note, ours, theirs in _pairs(before, after, both):
        found = diff(ours, theirs)
        changed_notes += bool(found)
        kinds.update(str(change.kind) for change in found)
        changes += [
            [note, str(change.kind), _place(change.before), _place(change.after)]
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
    """The notes whose spans differ, with both sides' spans."""
    for at in range(0, len(notes), BATCH):
        batch = notes[at : at + BATCH]
        ours, theirs = (_spans(version, batch) for version in (before, after))
        for note in batch:
            if ours[note] != theirs[note]:
                yield note, [Span(*place) for place in ours[note]], [Span(*place) for place in theirs[note]]


def _spans(version: GoldVersion, notes: list[int]) -> dict[int, list[list[Any]]]:
    rows = GoldVersionNote.objects.filter(version=version, document__in=notes)
    return {note: [span[:3] for span in spans] for note, spans in rows.values_list("document_id", "spans")}


def _span_counts(version: GoldVersion, notes: list[int]) -> list[list[int]]:
    """[note, spans] of these notes."""
    found = []
    for at in range(0, len(notes), BATCH):
        spans = _spans(version, notes[at : at + BATCH])
        found += [[note, len(spans[note])] for note in notes[at : at + BATCH]]
    return found


def _place(span: Span | None) -> list[Any] | None:
    return [span.start, span.end, span.label] if span else None
