"""Add, change, reorder and delete the categories of a project's labels."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from django.db import transaction
from django.db.models import OuterRef, Subquery
from django.utils.translation import gettext as _

from annotations.core.labels import UNDERLINES
from annotations.core.services import ServiceError, change_labels, good_name
from annotations.jobs.services.queue import LIVE
from annotations.models import Category, Job, Label, LabelSet, Project, User
from annotations.projects import events
from annotations.projects.selectors.labels import seen_of
from annotations.projects.services.projects import HUES
from annotations.text.labels import ascii_code

Row = TypeVar("Row", Category, Label)
LONGEST_NAME = 80
LONGEST_CODE = 60
# With more, two categories would have the same color and the same underline style.
MOST_CATEGORIES = HUES * UNDERLINES


def add_category(*, label_set: LabelSet, name: str, hue: int, actor: User | None) -> Category:
    """Add a category at the end of the list. Its ASCII code is made from the name."""
    name = check_name(name)
    _check_hue(hue)
    with transaction.atomic():
        others = lock_categories(label_set.pk)
        if len(others) >= MOST_CATEGORIES:
            message = _("A label set has at most %(most)d categories. Delete an empty category first.")
            raise ServiceError(message % {"most": MOST_CATEGORIES}, code="limit")
        _check_free(name, others)
        taken = _(
            "In files, this category would have the code “%(code)s”, like the category %(name)s. Choose another name."
        )
        code = free_code(name, others, taken)
        category = Category.objects.create(label_set=label_set, code=code, name=name, hue=hue, position=len(others))
        _renumber([*others, category])
        events.CATEGORY_ADDED.record(actor=actor, project_id=label_set.project_id, data={"category": code})
    return category


def update_category(
    *, category: Category, name: str, hue: int, actor: User | None, seen: str | None = None
) -> Category:
    """Change name and color. The code stays, since files and scores use it.

    Raises ServiceError (`stale`) if somebody changed the category after the state `seen`.
    """
    name = check_name(name)
    _check_hue(hue)
    with transaction.atomic():
        rows = {row.pk: row for row in lock_categories(category.label_set_id)}
        fresh = rows.pop(category.pk, None)
        if fresh is None:
            raise no_category()
        wanted: dict[str, str | int] = {"name": name, "hue": hue}
        before = {field: getattr(fresh, field) for field in wanted if getattr(fresh, field) != wanted[field]}
        if not before:
            return fresh
        if seen is not None and seen != seen_of(fresh):
            raise changed_meanwhile()
        _check_free(name, list(rows.values()))
        fresh.name, fresh.hue = name, hue
        fresh.save(update_fields=["name", "hue"])
        change: events.CategoryChanged = {
            "category": fresh.code,
            "fields": sorted(before),
            "before": before,
            "after": {field: wanted[field] for field in before},
        }
        events.CATEGORY_CHANGED.record(actor=actor, project_id=category.label_set.project_id, data=change)
    return fresh


def move_category(*, category: Category, position: int, actor: User | None) -> None:
    """Move a category to `position`, counted from 0. A position after the last is the last."""
    with transaction.atomic():
        rows = lock_categories(category.label_set_id)
        moved, before, after = _moved(rows, category.pk, position, no_category())
        _renumber(rows)
        if before != after:
            data: events.CategoryMoved = {"category": moved.code, "before": before, "after": after}
            events.CATEGORY_MOVED.record(actor=actor, project_id=category.label_set.project_id, data=data)


def _moved(rows: list[Row], pk: int, position: int, gone: ServiceError) -> tuple[Row, int, int]:
    """Move a row within the list. Return it with its place before and after, counted from 1. Raises `gone`."""
    row = next((row for row in rows if row.pk == pk), None)
    if row is None:
        raise gone
    before = rows.index(row)
    rows.remove(row)
    rows.insert(position, row)
    return row, before + 1, rows.index(row) + 1


def delete_category(*, category: Category, actor: User | None) -> None:
    """Delete a category without labels. Raises ServiceError: `used`, or `jobs`, since an import may hold its id.

    Merged labels go to the category of the label that they were merged into.
    """
    with transaction.atomic():
        project = category.label_set.project_id
        change_labels(project)
        # Starting a job locks the project too.
        Project.objects.select_for_update().get(pk=project)
        rows = lock_categories(category.label_set_id)
        fresh = next((row for row in rows if row.pk == category.pk), None)
        if fresh is None:
            raise no_category()
        if fresh.labels.filter(merged_into__isnull=True).exists():
            message = _(
                "The category %(name)s has labels, so it can't be deleted. Move them to another category first."
            )
            raise ServiceError(message % {"name": fresh.name}, code="used")
        if Job.objects.filter(project=project, state__in=LIVE).exists():
            raise ServiceError(
                _("Jobs are running in this project and may use the category. Wait until they end, or cancel them."),
                code="jobs",
            )
        target = Label.objects.filter(pk=OuterRef("merged_into")).values("category")
        fresh.labels.filter(merged_into__isnull=False).update(category=Subquery(target))
        events.CATEGORY_DELETED.record(actor=actor, project_id=project, data={"category": fresh.code, "id": fresh.pk})
        rows.remove(fresh)
        fresh.delete()
        _renumber(rows)


def lock_categories(label_set_id: int) -> list[Category]:
    """The categories in their order, which nobody else changes until the transaction ends."""
    LabelSet.objects.select_for_update().get(pk=label_set_id)
    return list(Category.objects.filter(label_set=label_set_id))


def changed_meanwhile() -> ServiceError:
    message = _(
        "Somebody else changed this in the meantime, as shown below. Nothing was saved. Save again to replace "
        "their change."
    )
    return ServiceError(message, code="stale")


def no_category() -> ServiceError:
    return ServiceError(_("This category no longer exists. Choose another."), code="category")


def check_name(name: str) -> str:
    """Return the name without surrounding white space."""
    name = good_name(name)
    if not name:
        raise ServiceError(_("Enter a name for the category."), code="name")
    if len(name) > LONGEST_NAME:
        message = _("The name of a category has at most %(most)d characters.")
        raise ServiceError(message % {"most": LONGEST_NAME}, code="name")
    return name


def _check_hue(hue: int) -> None:
    if not 0 <= hue < HUES:
        raise ServiceError(_("Choose one of the colors."), code="hue")


def _check_free(name: str, others: Sequence[Category]) -> None:
    """Names differ without regard to upper and lower case, in every script."""
    if other := next((one for one in others if one.name.casefold() == name.casefold()), None):
        message = _("The category “%(name)s” already exists. Choose another name.")
        raise ServiceError(message % {"name": other.name}, code="name")


def free_code(name: str, others: Iterable[Category] | Iterable[Label], taken: str) -> str:
    """Make the ASCII code of a name. `taken` is the error for the name of the row that has this code already."""
    try:
        code = ascii_code(name)
    except ValueError as error:
        raise ServiceError(_("The name must contain at least one letter or digit."), code="name") from error
    if len(code) > LONGEST_CODE:
        message = _("The code made from this name has more than 60 characters. Choose a shorter name.")
        raise ServiceError(message, code="name")
    if other := next((one for one in others if one.code.casefold() == code.casefold()), None):
        raise ServiceError(taken % {"code": code, "name": other.name}, code="name")
    return code


def _renumber(rows: Sequence[Row]) -> None:
    """Give the rows positions without gaps, so that the first categories have different underline styles."""
    for position, row in enumerate(rows):
        if row.position != position:
            row.position = position
            row.save(update_fields=["position"])


# Change the order of the labels within their category.


def move_label(*, label: Label, position: int, actor: User | None) -> None:
    """Move a label to `position` in its category, counted from 0. A position after the last is the last.

    The order of the other labels, also across categories, stays. Raises ServiceError `label` for a label that was
    merged or deleted.
    """
    with transaction.atomic():
        lock_categories(label.label_set_id)
        rows = list(Label.objects.filter(label_set=label.label_set_id, merged_into__isnull=True))
        category = next((row.category_id for row in rows if row.pk == label.pk), None)
        places = [place for place, row in enumerate(rows) if row.category_id == category]
        own = [rows[place] for place in places]
        gone = ServiceError(_("This label no longer exists. Reload the page."), code="label")
        moved, before, after = _moved(own, label.pk, position, gone)
        if before == after:
            return
        for place, row in zip(places, own, strict=True):
            rows[place] = row
        # Positions may have gaps, or be equal, after labels were merged or deleted.
        _renumber(rows)
        data: events.LabelMoved = {"label": moved.code, "before": before, "after": after}
        events.LABEL_MOVED.record(actor=actor, project_id=label.label_set.project_id, data=data)
