"""Labels with their number of spans, for the labels page."""

import json
from dataclasses import dataclass
from hashlib import sha256

from django.db.models import OuterRef

from annotations.core.labels import UNDERLINES
from annotations.core.spans import definitions
from annotations.models import Category, GoldVersion, Label, Project, Span
from annotations.projects.selectors.projects import Amount, CappedCount
from annotations.text.attributes import as_lines


@dataclass(frozen=True)
class LabelLine:
    label: Label
    spans: Amount

    @property
    def attributes(self) -> str:
        """The attributes as lines of text."""
        return as_lines(definitions(self.label))


@dataclass(frozen=True)
class CategoryLines:
    """A category with its labels. Its underline style distinguishes it without color."""

    category: Category
    underline: int
    lines: list[LabelLine]


def used_labels(project: Project) -> list[CategoryLines]:
    """Categories in order, each with its labels and their number of spans, counted up to CAP."""
    lines: dict[int, list[LabelLine]] = {}
    labels = Label.objects.filter(label_set__project=project, merged_into__isnull=True)
    for label in labels.annotate(spans_counted=CappedCount(Span.objects.filter(label=OuterRef("pk")))):
        line = LabelLine(label, Amount.of(label.spans_counted))
        lines.setdefault(label.category_id, []).append(line)
    return [
        CategoryLines(category, category.position % UNDERLINES, lines.get(category.pk, []))
        for category in Category.objects.filter(label_set__project=project)
    ]


def merged_labels(project: Project) -> list[Label]:
    """Labels that were merged into others, with their targets."""
    return list(
        Label.objects.filter(label_set__project=project, merged_into__isnull=False)
        .select_related("merged_into", "category")
        .order_by("name", "id")
    )


def frozen_versions(project: Project) -> int:
    """Number of frozen gold versions, which a merge of labels doesn't change."""
    return GoldVersion.objects.filter(project=project).count()


def seen_of(row: Category | Label) -> str:
    """A short digest of what a form for the row shows, to notice that somebody else changed the row meanwhile."""
    shown = (
        [row.name, row.hue]
        if isinstance(row, Category)
        else [row.name, row.hotkey, row.placeholder, row.description, row.category_id, row.attributes]
    )
    return sha256(json.dumps(shown).encode()).hexdigest()[:16]
