"""A project's labels as pages show them."""

from collections.abc import Iterable
from typing import Any, NotRequired, TypedDict

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from annotations.models import Label, Project

# The names of the hues 0 to 11 of static/css/tokens.css.
COLORS = (
    _("Red"),
    _("Orange"),
    _("Amber"),
    _("Lime"),
    _("Green"),
    _("Teal"),
    _("Cyan"),
    _("Sky blue"),
    _("Blue"),
    _("Violet"),
    _("Magenta"),
    _("Pink"),
)
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
    attributes: NotRequired[list[dict[str, Any]]]


LABEL_COLUMNS = (
    "id", "name", "hotkey", "description", "category__name", "category__hue", "category__position", "attributes",
)  # fmt: skip


def label_rows(project_id: int) -> QuerySet[Label]:
    """Return the project's labels in their order, without merged ones."""
    labels = Label.objects.filter(label_set__project_id=project_id, merged_into__isnull=True)
    return labels.order_by("category__position", "category_id", "position", "id")


def labels_of(project_id: int) -> list[LabelItem]:
    """Return the project's labels with the project's keyboard shortcuts."""
    return [label_item(*row) for row in label_rows(project_id).values_list(*LABEL_COLUMNS)]


def placeholders_of(project: Project) -> list[tuple[int, str]]:
    """Return what stands in de-identified text for each label, by its id; merged labels are included."""
    return list(Label.objects.filter(label_set__project=project).order_by("pk").values_list("pk", "placeholder"))


def labels_of_today(labels: Iterable[int]) -> dict[int, int]:
    """Return for each label id the id of the label that it is now, after merges. Deleted labels are missing."""
    rows = Label.objects.filter(pk__in=set(labels)).values_list("pk", "merged_into")
    return {pk: merged_into or pk for pk, merged_into in rows}


def label_item(
    pk: int, name: str, key: str, description: str, category: str, hue: int, position: int,
    attributes: list[dict[str, Any]],
) -> LabelItem:  # fmt: skip
    """Build the item from a row of LABEL_COLUMNS. Only labels with attributes have that key."""
    item = LabelItem(
        id=pk, name=name, key=key, description=description, category=category, hue=hue, underline=position % UNDERLINES
    )
    if attributes:
        item["attributes"] = attributes
    return item
