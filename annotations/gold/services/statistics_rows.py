"""The rows of corpus statistics: one for each label and category, as in tables 3.1 and 3.2 of Catelli 2021."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from annotations.gold.rules import CorpusPart, Count, together
from annotations.gold.services.statistics import Parts
from annotations.models import GoldVersion, Label, Project

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
