"""A project's labels as pages show them."""

from typing import TypedDict

from django.db.models import QuerySet

from annotations.models import Label
from annotations.models.prepared import PreparedRead

# Styles in static/css/note.css: underline-0 and so on.
UNDERLINES = 6


class LabelItem(TypedDict):
    id: int
    name: str
    key: str
    description: str
    category: str
    hue: int
    underline: int


LABEL_COLUMNS = ("id", "name", "hotkey", "description", "category__name", "category__hue", "category__position")


def label_rows(project_id: int) -> QuerySet[Label]:
    """The project's labels in their order; merged ones are gone."""
    labels = Label.objects.filter(label_set__project_id=project_id, merged_into__isnull=True)
    return labels.order_by("category__position", "category_id", "position", "id")


_LABELS = PreparedRead(lambda project: label_rows(project).values_list(*LABEL_COLUMNS), int)


def labels_of(project_id: int) -> list[LabelItem]:
    """The project's labels with the project's keys."""
    return [label_item(*row) for row in _LABELS.all(project_id)]


def label_item(pk: int, name: str, key: str, description: str, category: str, hue: int, position: int) -> LabelItem:
    """A row of LABEL_COLUMNS."""
    return LabelItem(
        id=pk,
        name=name,
        key=key,
        description=description,
        category=category,
        hue=hue,
        underline=position % UNDERLINES,
    )
