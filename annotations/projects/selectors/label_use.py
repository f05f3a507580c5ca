"""The label set with how much each label is used, as the labels page shows it."""

from dataclasses import dataclass

from django.db.models import OuterRef

from annotations.core.labels import UNDERLINES
from annotations.models import Category, GoldVersion, Label, Project, Span
from annotations.projects.selectors.projects import Amount, CappedCount


@dataclass(frozen=True)
class LabelLine:
    label: Label
    spans: Amount


@dataclass(frozen=True)
class CategoryLines:
    """A category with its labels; `underline` is its style, so that colour never stands alone."""

    category: Category
    underline: int
    lines: list[LabelLine]


def used_labels(project: Project) -> list[CategoryLines]:
    """Categories in their order, each with its labels and the spans that carry them, counted up to a limit."""
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
    """Labels that were merged away, with what they became."""
    return list(
        Label.objects.filter(label_set__project=project, merged_into__isnull=False)
        .select_related("merged_into", "category")
        .order_by("name", "id")
    )


def frozen_versions(project: Project) -> int:
    """How many gold versions were frozen: a merge leaves them as they are."""
    return GoldVersion.objects.filter(project=project).count()
