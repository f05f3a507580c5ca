"""Corpus statistics of a frozen gold version by split, stored until the version's notes or splits change."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

from django.db import transaction
from django.db.models import Sum

from annotations.core.bulk import among, batched, in_batches
from annotations.core.services import Progress, erasures_of, silent, unerased
from annotations.core.spans import Stored, json_of
from annotations.core.stored_figures import FigureKind, cache_value, cached_value, key_of
from annotations.core.tokenizers import Tokenizers
from annotations.gold.rules import ChangeKind, CorpusPart, Split, diff, part_of
from annotations.gold.selectors import hashed, span_of
from annotations.models import Document, GoldVersion, GoldVersionNote, Label
from annotations.text.spans import Span

REVISION = 4
BATCH = 500
# A worker counts versions with more text. This much takes about one second.
MOST_CHARACTERS = 5_000_000

Parts = dict[str, CorpusPart]
"""By split, in order. A version without a split has one part, with an empty name."""
STATISTICS: FigureKind[dict[str, dict[str, Any]]] = FigureKind("corpus")


def takes_long(version: GoldVersion) -> bool:
    """Whether a worker should count."""
    notes = GoldVersionNote.objects.filter(version=version).order_by().values("document_id")
    characters = Document.objects.filter(pk__in=notes).aggregate(total=Sum("length"))["total"] or 0
    return int(characters) > MOST_CHARACTERS


def kept_statistics(version: GoldVersion, tokenizer: str = "") -> Parts | None:
    """The stored statistics, or None if they were not computed yet."""
    found = cached_value(version.project, STATISTICS, _key(version, tokenizer))
    return None if found is None else _in_order({split: part_of(data) for split, data in found.items()})


def statistics_of(version: GoldVersion, progress: Progress = silent, *, tokenizer: str = "") -> Parts:
    """The stored statistics, or new ones, which are then stored.

    With a `tokenizer` (annotations.core.tokenizers), only in workers and commands. Raises ErasedMeanwhile, and
    ServiceError `tokenizer` if it can't be had.
    """
    found = kept_statistics(version, tokenizer)
    if found is not None:
        return found
    begun, key = erasures_of(version.project_id), _key(version, tokenizer)
    parts = _counted(version, progress, Tokenizers(tokenizer) if tokenizer else None)
    with transaction.atomic():
        unerased(version.project_id, begun)
        if _key(version, tokenizer) == key:
            cache_value(version.project, STATISTICS, key, {split: vars(part) for split, part in parts.items()})
    return parts


def _key(version: GoldVersion, tokenizer: str) -> str:
    notes = GoldVersionNote.objects.filter(version=version).order_by("document_id")
    made_of = REVISION, version.pk, version.content_hash, tokenizer
    return key_of(*made_of, list(notes.values_list("document_id", "split")))


def _counted(version: GoldVersion, progress: Progress, tokenizers: Tokenizers | None) -> Parts:
    notes = GoldVersionNote.objects.filter(version=version).order_by("document_id")
    total = notes.count()
    parts: Parts = {}
    rows = notes.values_list("document_id", "split", "document__text", "document__language", "spans")
    batches = in_batches(rows, BATCH, by="document_id")
    for done, (_note, split, text, language, spans) in enumerate(chain.from_iterable(batches), start=1):
        tokenizer = tokenizers(language or version.project.language) if tokenizers else None
        parts.setdefault(split, CorpusPart()).add_note(text, (Span(*span[:3]) for span in spans), tokenizer)
        if done % BATCH == 0 or done == total:
            progress(done, total)
    return _in_order(parts)


def _in_order(parts: Parts) -> Parts:
    return {split: parts[split] for split in (*map(str, Split), "") if split in parts}


# The tables of corpus statistics: rows for each label and category, as in tables 3.1 and 3.2 of Catelli 2021.


WHOLE = "total"


def table_of(version: GoldVersion, parts: Parts, tokenizer: str = "") -> dict[str, Any]:
    """The statistics of a version as JSON, by split and in total. A value that can't be computed is null.

    All labels of the project are rows, also unused ones. Merged and deleted labels are listed where the version has
    them. The category is empty for a label that the project no longer has.
    """
    columns = {split: part for split, part in parts.items() if split} | {WHOLE: sum(parts.values(), CorpusPart())}
    used = columns[WHOLE].spans
    found = Label.objects.filter(label_set__project=version.project).select_related("category")
    labels = [each for each in found.order_by("position", "id") if each.merged_into_id is None or each.code in used]
    labels.sort(key=lambda label: (label.category.position, label.category_id))
    members: dict[str, list[str]] = {}
    for label in labels:
        members.setdefault(label.category.name, []).append(label.code)
    named = [(label.name, label.category.name, label.code) for label in labels]
    unknown = [(code, "", code) for code in sorted(used.keys() - {label.code for label in labels})]

    def cells(codes: list[str]) -> dict[str, dict[str, Any]]:
        return {name: _means(part, codes) for name, part in columns.items()}

    return {
        "version": version.number,
        "tokenizer": tokenizer or None,
        "splits": {name: _figures(part) for name, part in columns.items()},
        "labels": [{"label": name, "category": of, "splits": cells([code])} for name, of, code in named + unknown],
        "categories": [{"category": name, "splits": cells(codes)} for name, codes in members.items()],
    }


def _means(part: CorpusPart, codes: Collection[str]) -> dict[str, Any]:
    """The spans with any of these labels."""
    spans, tokens = (sum(counts[code] for code in codes) for counts in (part.spans, part.in_spans))
    return {
        "spans": spans,
        "spans_per_note": part.per_note(spans),
        "tokens_per_span": tokens / spans if spans else None,
    }


def _figures(part: CorpusPart) -> dict[str, Any]:
    """The counts of a part. Tokens have the tags O, B or I (Salierno et al. 2024, table 6)."""
    tags = {"O": part.outside, "B": part.begin, "I": part.inside}
    return {
        "notes": part.notes,
        "tokens": part.tokens,
        "tokens_per_note": part.per_note(part.tokens),
        **_means(part, part.spans),
        "tags": tags,
        "tags_per_note": {tag: part.per_note(n) for tag, n in tags.items()},
    }


# What changed between two frozen gold versions.


# The maximum number of changes that are stored and shown; all changes are counted.
MOST_CHANGES = 50_000

FrozenSpan = tuple[int, int, str] | tuple[int, int, str, Stored]
"""Start, end (code points, end-exclusive), label code, and attributes if the span has some."""
Frozen = list[list[Any]]
"""The spans of a note as a version holds them (annotations.gold.selectors.span_of)."""


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
    known = cached_value(before.project, DIFF, key)
    if known is not None:
        return GoldChanges(**known)
    found = _diff(before, after)
    cache_value(before.project, DIFF, key, asdict(found))
    return found


def _diff(before: GoldVersion, after: GoldVersion) -> GoldChanges:
    old, new = (set(version.notes.values_list("document_id", flat=True)) for version in (before, after))
    kinds: Counter[str] = Counter({str(kind): 0 for kind in ChangeKind})
    changes: list[Any] = []
    changed_notes = 0
    both = sorted(old & new)
    for note, old_spans, new_spans in _changed(before, after, both):
        found = diff(map(span_of, old_spans), map(span_of, new_spans))
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


def _changed(before: GoldVersion, after: GoldVersion, notes: list[int]) -> Iterator[tuple[int, Frozen, Frozen]]:
    """Yield each of these notes whose spans differ, with its spans before and after."""
    for batch in batched(notes, BATCH):
        rows = GoldVersionNote.objects.filter(document__in=batch).order_by()
        old, new = (dict(rows.filter(version=one).values_list("document_id", "spans")) for one in (before, after))
        for note in batch:
            if list(map(hashed, old[note])) != list(map(hashed, new[note])):
                yield note, old[note], new[note]


def _span_counts(version: GoldVersion, notes: Collection[int]) -> list[list[int]]:
    """Return [note, number of spans] for each of these notes."""
    rows = version.notes.filter(document__in=among(notes)).order_by("document_id").values_list("document_id", "spans")
    return [[note, len(spans)] for note, spans in rows.iterator(chunk_size=BATCH)]


def _row(span: Span | None) -> FrozenSpan | None:
    if span is None:
        return None
    given = json_of(span.attributes)
    return (span.start, span.end, span.label, given) if given else (span.start, span.end, span.label)
