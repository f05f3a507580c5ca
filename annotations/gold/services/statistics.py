"""Corpus statistics of a frozen gold version by split, stored until the version's notes or splits change."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Sum

from annotations.core.locks import erasures_of, unerased
from annotations.core.progress import Progress, silent
from annotations.core.stored_figures import FigureKind, keep, kept, key_of
from annotations.core.tokenizers import Tokenizers
from annotations.gold.rules import CorpusPart, Count, PartData, Split, part_of, together
from annotations.models import Document, GoldVersion, GoldVersionNote, Label, Project
from annotations.text.spans import Span

REVISION = 2
BATCH = 500
# A worker counts versions with more text. This much takes about one second.
MOST_CHARACTERS = 5_000_000

Parts = dict[str, CorpusPart]
"""By split, in order. A version without a split has one part, with an empty name."""
STATISTICS: FigureKind[dict[str, PartData]] = FigureKind("corpus")


def takes_long(version: GoldVersion) -> bool:
    """Whether a worker should count."""
    notes = GoldVersionNote.objects.filter(version=version).order_by().values("document_id")
    characters = Document.objects.filter(pk__in=notes).aggregate(total=Sum("length"))["total"] or 0
    return int(characters) > MOST_CHARACTERS


def kept_statistics(version: GoldVersion, tokenizer: str = "") -> Parts | None:
    """The stored statistics, or None if they were not computed yet."""
    found = kept(version.project, STATISTICS, _key(version, tokenizer))
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
            keep(version.project, STATISTICS, key, {split: part.data() for split, part in parts.items()})
    return parts


def _key(version: GoldVersion, tokenizer: str) -> str:
    notes = GoldVersionNote.objects.filter(version=version).order_by("document_id")
    made_of = REVISION, version.pk, version.content_hash, tokenizer
    return key_of(*made_of, list(notes.values_list("document_id", "split")))


def _counted(version: GoldVersion, progress: Progress, tokenizers: Tokenizers | None) -> Parts:
    notes = GoldVersionNote.objects.filter(version=version).order_by("document_id")
    total = notes.count()
    parts: Parts = {}
    rows = notes.values_list("split", "document__text", "document__language", "spans").iterator(chunk_size=BATCH)
    for done, (split, text, language, spans) in enumerate(rows, start=1):
        tokenizer = tokenizers(language or version.project.language) if tokenizers else None
        parts.setdefault(split, CorpusPart()).add_note(text, (Span(*span[:3]) for span in spans), tokenizer)
        if done % BATCH == 0 or done == total:
            progress(done, total)
    return _in_order(parts)


def _in_order(parts: Parts) -> Parts:
    return {split: parts[split] for split in (*map(str, Split), "") if split in parts}


# The rows of corpus statistics: one for each label and category, as in tables 3.1 and 3.2 of Catelli 2021.


WHOLE = "total"


@dataclass(frozen=True)
class Tag:
    """How many tokens have the tag O, B or I, and how many in a note (Salierno et al. 2024, table 6)."""

    name: str
    count: int
    per_note: float | None


@dataclass(frozen=True)
class Column:
    """A split, or the whole version with an empty name."""

    name: str
    part: CorpusPart

    @property
    def tokens_per_note(self) -> float | None:
        return self.part.per_note(self.part.tokens)

    @property
    def tags(self) -> list[Tag]:
        counts = (("O", self.part.outside), ("B", self.part.begin), ("I", self.part.inside))
        return [Tag(name, n, self.part.per_note(n)) for name, n in counts]


@dataclass(frozen=True)
class SpanStatistics:
    """The spans of one row in one column. The means are None without notes or spans."""

    spans: int
    per_note: float | None
    tokens_per_span: float | None


@dataclass(frozen=True)
class StatisticsRow:
    """A label or a category. `category` is empty for a category, and for a label that the project no longer has."""

    name: str
    category: str
    cells: list[SpanStatistics]

    @property
    def total(self) -> int:
        return self.cells[-1].spans


@dataclass(frozen=True)
class StatisticsTable:
    """`columns` end with the whole version; without a split, it is the only column."""

    columns: list[Column]
    labels: list[StatisticsRow]
    categories: list[StatisticsRow]
    whole: StatisticsRow

    @property
    def tags(self) -> list[tuple[str, list[Tag]]]:
        """For each tag its counts, in the order of the columns."""
        return [(tags[0].name, list(tags)) for tags in zip(*(column.tags for column in self.columns), strict=True)]


def table_of(project: Project, parts: Parts) -> StatisticsTable:
    """All labels of the project, also unused ones. Merged and deleted labels are listed where the version has them."""
    named = [Column(split, part) for split, part in parts.items() if split]
    columns = [*named, Column("", together(parts.values()))]
    used = columns[-1].part.labels
    found = Label.objects.filter(label_set__project=project).select_related("category")
    labels = [each for each in found.order_by("position", "id") if each.merged_into_id is None or each.code in used]
    labels.sort(key=lambda label: (label.category.position, label.category_id))
    members: dict[int, list[str]] = {}
    for label in labels:
        members.setdefault(label.category_id, []).append(label.code)
    names = {label.category_id: label.category.name for label in labels}
    unknown = sorted(used.keys() - {label.code for label in labels})
    return StatisticsTable(
        columns=columns,
        labels=[StatisticsRow(label.name, label.category.name, _cells(columns, [label.code])) for label in labels]
        + [StatisticsRow(code, "", _cells(columns, [code])) for code in unknown],
        categories=[StatisticsRow(names[pk], "", _cells(columns, codes)) for pk, codes in members.items()],
        whole=StatisticsRow("", "", [_cell(column.part, column.part.all) for column in columns]),
    )


def _cells(columns: Iterable[Column], codes: list[str]) -> list[SpanStatistics]:
    return [_cell(column.part, column.part.of(codes)) for column in columns]


def _cell(part: CorpusPart, count: Count) -> SpanStatistics:
    return SpanStatistics(count.spans, part.per_note(count.spans), count.tokens_per_span)


def as_data(version: GoldVersion, table: StatisticsTable, tokenizer: str = "") -> dict[str, Any]:
    """The statistics of a version as JSON. A value that can't be computed is null."""
    return {
        "version": version.number,
        "tokenizer": tokenizer or None,
        "splits": {column.name or WHOLE: _part(column) for column in table.columns},
        "labels": [{"label": row.name, "category": row.category} | _row(table.columns, row) for row in table.labels],
        "categories": [{"category": row.name} | _row(table.columns, row) for row in table.categories],
    }


def _part(column: Column) -> dict[str, Any]:
    part, spans = column.part, column.part.all
    return {
        "notes": part.notes,
        "tokens": part.tokens,
        "spans": spans.spans,
        "tokens_per_note": column.tokens_per_note,
        "spans_per_note": part.per_note(spans.spans),
        "tokens_per_span": spans.tokens_per_span,
        "tags": {tag.name: tag.count for tag in column.tags},
        "tags_per_note": {tag.name: tag.per_note for tag in column.tags},
    }


def _row(columns: list[Column], row: StatisticsRow) -> dict[str, Any]:
    cells = zip(columns, row.cells, strict=True)
    return {
        "splits": {
            column.name or WHOLE: {
                "spans": cell.spans,
                "spans_per_note": cell.per_note,
                "tokens_per_span": cell.tokens_per_span,
            }
            for column, cell in cells
        }
    }
