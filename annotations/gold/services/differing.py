"""How the current gold differs from a frozen version. Counts are stored by note, so that only changed notes are read.

Every write to a gold set increases its version, and a set that is made again has another id. So a note whose set has
the stored id and version has the stored counts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.db import transaction

from annotations.core.authors import gold_sets
from annotations.core.locks import ErasedMeanwhile, erasures_of, unerased
from annotations.core.spans import pairs_of
from annotations.core.stored_figures import FigureKind, keep, kept, key_of
from annotations.gold.rules import ChangeKind, diff
from annotations.models import GoldVersion, GoldVersionNote, Span
from annotations.text.spans import Span as DomainSpan

REVISION = 2
# Up to this many notes are read by their ids; for more, all notes are read by one query.
BATCH = 500

Sets = dict[int, tuple[int, int]]
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
    sets: Sets = {note: (pk, number) for note, pk, number in rows}
    frozen = [REVISION, version.pk, version.content_hash, version.erased_count]
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


def _counted(version: GoldVersion, sets: Sets, known: Counts) -> tuple[tuple[int, int, int], Counts]:
    """Return the totals, and the counts of all notes with gold. Reads only notes whose counts are not known."""
    frozen = set(version.notes.order_by().values_list("document_id", flat=True))
    counts = {note: row for note, row in known.items() if sets.get(int(note)) == tuple(row[:2])}
    todo = {note: pair for note, pair in sets.items() if str(note) not in counts}
    for note, before, after in _pairs(version, todo):
        changes = diff(before, after)
        relabeled = sum(change.kind == ChangeKind.RELABELED for change in changes)
        counts[str(note)] = (*sets[note], len(changes), relabeled)
    removed = frozen - sets.keys()
    spans = sum(row[2] for row in counts.values()) + sum(map(len, _frozen(version, removed).values()))
    notes = len(removed) + sum(bool(row[2]) or int(note) not in frozen for note, row in counts.items())
    return (spans, sum(row[3] for row in counts.values()), notes), counts


def _pairs(version: GoldVersion, todo: Sets) -> Iterator[tuple[int, list[DomainSpan], list[DomainSpan]]]:
    """Yield each of these notes with its spans in the version and its current gold spans."""
    note_of = {pk: note for note, (pk, _) in todo.items()}
    present: dict[int, list[DomainSpan]] = {}
    spans = Span.objects.order_by()
    if len(todo) > BATCH:
        spans = spans.filter(annotation_set__in=gold_sets(version.project).order_by())
    else:
        spans = spans.filter(annotation_set__in=list(note_of))
    columns = spans.values_list("annotation_set_id", "start", "end", "label__code", "attributes")
    for pk, start, end, code, attributes in columns.iterator(chunk_size=5000):
        if pk in note_of:
            span = DomainSpan(start, end, code, attributes=pairs_of(attributes))
            present.setdefault(note_of[pk], []).append(span)
    frozen = _frozen(version, todo)
    for note in todo:
        yield note, frozen.get(note, []), present.get(note, [])


def _frozen(version: GoldVersion, notes: Mapping[int, object] | set[int]) -> dict[int, list[DomainSpan]]:
    """Return the spans of these notes in the version, without notes that it lacks."""
    rows = GoldVersionNote.objects.filter(version=version).order_by()
    if len(notes) <= BATCH:
        rows = rows.filter(document__in=list(notes))
    return {
        note: [DomainSpan(*span[:3], attributes=pairs_of(span[4] if len(span) > 4 else None)) for span in spans]
        for note, spans in rows.values_list("document_id", "spans").iterator(chunk_size=BATCH)
        if note in notes
    }
