"""What changed between two frozen gold versions, and how the current gold differs from a version.

The counts of the current gold are stored by note, so that only changed notes are read: every write to a gold set
increases its version, and a set that is made again has another id. So a note whose set has the stored id and version
has the stored counts.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from annotations import models
from annotations.core.authors import gold_sets
from annotations.core.locks import ErasedMeanwhile, erasures_of, unerased
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


# How the current gold differs from a version.


COUNTS_REVISION = 2
GoldSets = dict[int, tuple[int, int]]
"""Id and version of the gold set of each note."""
Counts = dict[str, tuple[int, int, int, int]]
"""By note id: id and version of its gold set, number of differing spans, and how many differ only in their label."""
COUNTS: FigureKind[Counts] = FigureKind("gold-differs-notes")
TOTALS: FigureKind[tuple[int, int, int]] = FigureKind("gold-differs")


@dataclass(frozen=True)
class Difference:
    """`spans` differ, `labels` of them only in their label. `notes` also counts new and removed notes without spans."""

    spans: int
    labels: int
    notes: int


def difference(version: GoldVersion) -> Difference:
    """Compare the current gold with the version, without names of notes and without notes that were erased."""
    project = version.project
    begun = erasures_of(project.pk)
    rows = gold_sets(project).order_by("document_id").values_list("document_id", "pk", "version")
    sets: GoldSets = {note: (pk, number) for note, pk, number in rows}
    frozen = [COUNTS_REVISION, version.pk, version.content_hash, version.erased_count]
    key = key_of(frozen, list(sets.items()))
    totals = kept(project, TOTALS, key)
    if totals is None:
        totals, counts = _counted(version, sets, kept(project, COUNTS, key_of(frozen)) or {})
        try:
            with transaction.atomic():
                unerased(project.pk, begun)
                keep(project, COUNTS, key_of(frozen), counts)
                keep(project, TOTALS, key, totals)
        except ErasedMeanwhile:
            pass  # The counts are still right for the notes that were read.
    return Difference(*totals)


def _counted(version: GoldVersion, sets: GoldSets, known: Counts) -> tuple[tuple[int, int, int], Counts]:
    """Return the totals, and the counts of all notes with gold. Reads only notes whose counts are not known."""
    frozen = set(version.notes.order_by().values_list("document_id", flat=True))
    counts = {note: row for note, row in known.items() if sets.get(int(note)) == tuple(row[:2])}
    todo = {note: pair for note, pair in sets.items() if str(note) not in counts}
    for note, before, after in _with_current(version, todo):
        changes = diff(before, after)
        relabeled = sum(change.kind == ChangeKind.RELABELED for change in changes)
        counts[str(note)] = (*sets[note], len(changes), relabeled)
    removed = frozen - sets.keys()
    spans = sum(row[2] for row in counts.values()) + sum(n for _note, n in _span_counts(version, removed))
    notes = len(removed) + sum(bool(row[2]) or int(note) not in frozen for note, row in counts.items())
    return (spans, sum(row[3] for row in counts.values()), notes), counts


def _with_current(version: GoldVersion, todo: GoldSets) -> Iterator[Pair]:
    """Yield each of these notes with its spans in the version and its current gold spans."""
    note_of = {pk: note for note, (pk, _) in todo.items()}
    present: dict[int, list[Span]] = {}
    many = len(todo) > BATCH
    sets = gold_sets(version.project).order_by() if many else list(note_of)
    spans = models.Span.objects.filter(annotation_set__in=sets).order_by()
    columns = spans.values_list("annotation_set_id", "start", "end", "label__code", "attributes")
    for pk, start, end, code, attributes in columns.iterator(chunk_size=5000):
        if pk in note_of:
            span = Span(start, end, code, attributes=pairs_of(attributes))
            present.setdefault(note_of[pk], []).append(span)
    frozen = _frozen(version, todo)
    for note in todo:
        yield note, list(map(_span, frozen.get(note, []))), present.get(note, [])
