"""Routes of labels and of their categories: list, add, change, move, merge and delete."""

from collections.abc import Mapping
from typing import Any, Self

from django.db.models import OuterRef
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from ninja import Field, Query, Schema

from annotations.core.access import Access, Can
from annotations.core.api.answers import check_if_match, unless_stale
from annotations.core.api.paging import Page, PageAnswer, Paging, paged_rows
from annotations.core.api.routes import ApiRequest, Body, ProjectRouter, check, enter, invalid, named
from annotations.core.services import ServiceError
from annotations.core.spans import definitions
from annotations.models import Category, Label, LabelSet, Span
from annotations.projects.events import LabelMerge
from annotations.projects.forms import labels as label_forms
from annotations.projects.selectors.labels import category_at, frozen_versions, label_at, label_uses, seen_of
from annotations.projects.selectors.projects import Amount, CappedCount
from annotations.projects.services import labels as label_services
from annotations.projects.services.categories import (
    add_category,
    delete_category,
    move_category,
    move_label,
    update_category,
)
from annotations.text.attributes import AttributeDef, AttributeDefError, as_data, as_lines, check_definitions

router = ProjectRouter(tags=["Labels"])
PATH = "/projects/{slug:slug}/labels"
ONE = f"{PATH}/{{int:label}}"
CATEGORIES = "/projects/{slug:slug}/categories"
CATEGORY = f"{CATEGORIES}/{{int:category}}"
_OF_CATEGORY = {"name": "name", "hue": "hue"}


class LabelAttribute(Schema):
    """What spans of a label may have: one of the values; without values, yes or no."""

    name: str
    values: list[str] = []


class LabelItem(Schema):
    """A label. `category` is the code of its category, `position` its place among the labels.

    `identifier` is the identifier type of the project's own label, if given.
    `merged_into` is the code of the label that replaces it. `spans`, only for managers, counts its spans in all
    annotation sets up to 10,000; `more_spans`: there are more.
    """

    id: int
    code: str
    name: str
    category: str
    hotkey: str
    description: str
    placeholder: str
    attributes: list[LabelAttribute]
    identifier: str
    position: int
    merged_into: str | None
    spans: int | None = None
    more_spans: bool = False

    @classmethod
    def of(cls, label: Label) -> Self:
        counted = getattr(label, "spans_counted", None)
        amount = None if counted is None else Amount.of(counted)
        return cls(
            id=label.pk, code=label.code, name=label.name, category=label.category.code, hotkey=label.hotkey,
            description=label.description, placeholder=label.placeholder, position=label.position,
            identifier=label.identifier,
            attributes=[LabelAttribute(**each) for each in as_data(definitions(label))],
            merged_into=label.merged_into.code if label.merged_into else None,
            spans=amount.n if amount else None, more_spans=bool(amount and amount.more),
        )  # fmt: skip


class AttributeOfBody(Body):
    """An attribute with its values; without values, it is yes or no."""

    name: str
    values: list[str] = []


class NewLabel(Body):
    """A label. Its code is made from the name. `category` is the code of a category, `hotkey` a letter or digit.

    `identifier` is what the label identifies, such as phone; the types are those of release policies.
    """

    name: str
    category: str = Field(max_length=60)
    hotkey: str = ""
    description: str = ""
    attributes: list[AttributeOfBody] = []
    identifier: str = ""


class ChangedLabel(Body):
    """What to change of a label; the rest stays. `attributes` replaces all attributes. The code never changes."""

    name: str = ""
    category: str = Field("", max_length=60)
    hotkey: str = ""
    description: str = ""
    placeholder: str = ""
    attributes: list[AttributeOfBody] = []
    identifier: str = ""


class NewPosition(Body):
    """The place of a label in its category, or of a category in the list, counted from 0."""

    position: int


class LabelUses(Schema):
    """Where the label is used, in sentences. A label that is not used can be deleted."""

    uses: list[str]


class MergeTarget(Body):
    """The code of the label that the spans get."""

    into: str = Field(max_length=60)


class LabelMergePreview(LabelMerge):
    """What a merge would change. The frozen gold versions keep the old label."""

    frozen_versions: int


@router.get(PATH, Can.SEE_PROJECT, response=Page[LabelItem])
def list_labels(request: ApiRequest, access: Access, paging: Query[Paging]) -> PageAnswer:
    """List the labels by id, merged ones included."""
    rows = Label.objects.filter(label_set__project=access.project).select_related("category", "merged_into")
    if access.can(Can.MANAGE):
        rows = rows.annotate(spans_counted=CappedCount(Span.objects.filter(label=OuterRef("pk"))))
    return paged_rows(request, paging, rows, LabelItem.of)


@router.post(PATH, Can.MANAGE, response={201: LabelItem})
def new_label(access: Access, body: NewLabel) -> LabelItem:
    """Add a label at the end of the list."""
    label_set = get_object_or_404(LabelSet, project=access.project)
    data = body.dict() | {"category": _category_id(access, body.category), "attributes": _lines(body.attributes)}
    wanted = check(label_forms.AddLabelForm(data, label_set=label_set))
    with named(_FIELDS):
        made = label_services.add_label(label_set=label_set, actor=access.user, **wanted)
    return LabelItem.of(made)


@router.get(ONE, response=LabelItem)
def read_label(request: ApiRequest, response: HttpResponse, slug: str, label: int) -> LabelItem:
    """Read a label. The ETag stands for what can be changed of it."""
    found = label_at(enter(request, slug).project, label)
    response["ETag"] = _etag(found)
    return LabelItem.of(found)


@router.patch(ONE, Can.MANAGE, response=LabelItem)
def change_label(
    request: ApiRequest, response: HttpResponse, access: Access, label: int, body: ChangedLabel
) -> LabelItem:
    """Change name, category, key, description, placeholder, attributes or identifier type of a label."""
    found = label_at(access.project, label)
    seen = seen_of(found) if check_if_match(request, _etag(found)) else None
    if found.merged_into is not None:
        raise ServiceError(_("This label was already merged. Change the label that it was merged into."), code="merged")
    given = body.dict(exclude_unset=True)
    if "category" in given:
        given["category"] = _category_id(access, given["category"])
    if "attributes" in given:
        given["attributes"] = _lines(body.attributes)
    now = label_services.current(found)
    wanted = check(label_forms.EditLabelForm(now | given, label_set=found.label_set))
    wanted.pop("seen")
    with named(_FIELDS), unless_stale(lambda: _etag(label_at(access.project, label))):
        label_services.update_label(label=found, actor=access.user, seen=seen, **wanted)
    response["ETag"] = _etag(found)
    return LabelItem.of(found)


@router.get(f"{ONE}/uses", response=LabelUses)
def read_uses(request: ApiRequest, slug: str, label: int) -> LabelUses:
    """Say where a label is used."""
    return LabelUses(uses=label_uses(label_at(enter(request, slug, Can.MANAGE).project, label)))


@router.post(f"{ONE}/move", Can.MANAGE, response=LabelItem)
def move_label_to(access: Access, label: int, body: NewPosition) -> LabelItem:
    """Move a label to another place in its category. A place after the last one is the last one."""
    position = check(label_forms.MoveForm(body.dict()))["position"]
    move_label(label=label_at(access.project, label), position=position, actor=access.user)
    return LabelItem.of(label_at(access.project, label))


@router.delete(ONE, Can.MANAGE, response={204: None})
def remove_label(access: Access, label: int) -> None:
    """Delete a label that nothing uses."""
    label_services.delete_label(label=label_at(access.project, label), actor=access.user)


@router.get(f"{ONE}/merge", Can.MANAGE, response=LabelMergePreview)
def preview_label_merge(access: Access, label: int, into: str) -> dict[str, Any]:
    """Count what merging a label into the label with the code `into` would change."""
    source, target = _merging(access, label, into)
    with named(_MERGING):
        counts = label_services.merge_preview(source=source, target=target)
    return {**counts, "frozen_versions": frozen_versions(access.project)}


@router.post(f"{ONE}/merge", Can.MANAGE, response=LabelMerge)
def merge_label(access: Access, label: int, body: MergeTarget) -> LabelMerge:
    """Give every span of a label another label, and free its name and key. Nobody can undo this."""
    source, target = _merging(access, label, body.into)
    with named(_MERGING):
        return label_services.merge_labels(source=source, target=target, actor=access.user)


_FIELDS: Mapping[str, str] = {**{field: field for field in (*label_services.EDITABLE, "category")}, "taken": "name"}
_MERGING: Mapping[str, str] = dict.fromkeys(("merged", "same", "attributes"), "into")


def _merging(access: Access, label: int, into: str) -> tuple[Label, Label]:
    """Return the label and the one with the code. Raises Http404, and Problem (422) if it can't be the target."""
    source = label_at(access.project, label)
    others = Label.objects.filter(label_set=source.label_set, code=into, merged_into__isnull=True)
    chosen = others.values_list("pk", flat=True).first()
    return source, check(label_forms.MergeForm({"into": into if chosen is None else chosen}, source=source))["into"]


def _category_id(access: Access, code: str) -> int | str:
    """Return the id of the category with this code for a form, which refuses anything else."""
    found = Category.objects.filter(label_set__project=access.project, code=code).values_list("pk", flat=True).first()
    return "none" if found is None else found


def _lines(attributes: list[AttributeOfBody]) -> str:
    """Return the attributes as the lines that the forms read."""
    try:
        return as_lines(check_definitions(AttributeDef(each.name, tuple(each.values)) for each in attributes))
    except AttributeDefError as error:
        raise invalid(("attributes", str(error))) from error


def _etag(row: Category | Label) -> str:
    return f'"{seen_of(row)}"'


# ── Categories ───────────────────────────────────────────────────────────────────────────────────────────────────────


class CategoryItem(Schema):
    """A category of labels. `hue` is its color (0 to 11), `position` its place, counted from 0."""

    id: int
    code: str
    name: str
    hue: int
    position: int


class NewCategory(Body):
    """A category. Its code is made from the name. Without `hue`, it gets a color that few categories have."""

    name: str
    hue: int | None = Field(None, ge=0, le=11)


class ChangedCategory(Body):
    """What to change of a category; the rest stays. The code never changes."""

    name: str = ""
    hue: int = Field(0, ge=0, le=11)


@router.get(CATEGORIES, Can.SEE_PROJECT, response=Page[CategoryItem])
def list_categories(request: ApiRequest, access: Access, paging: Query[Paging]) -> PageAnswer:
    """List the categories by id."""
    rows = Category.objects.filter(label_set__project=access.project)
    return paged_rows(request, paging, rows, CategoryItem.from_orm)


@router.post(CATEGORIES, Can.MANAGE, response={201: CategoryItem})
def new_category(access: Access, body: NewCategory) -> CategoryItem:
    """Add a category at the end of the list."""
    label_set = get_object_or_404(LabelSet, project=access.project)
    others = list(label_set.categories.all())
    hue = label_forms.rarest_hue(others) if body.hue is None else body.hue
    wanted = check(label_forms.CategoryForm({"name": body.name, "hue": hue}, others=others))
    with named(_OF_CATEGORY):
        made = add_category(label_set=label_set, name=wanted["name"], hue=wanted["hue"], actor=access.user)
    return CategoryItem.from_orm(made)


@router.get(CATEGORY, response=CategoryItem)
def read_category(request: ApiRequest, response: HttpResponse, slug: str, category: int) -> CategoryItem:
    """Read a category. The ETag stands for its name and color."""
    return _said(response, category_at(enter(request, slug).project, category))


@router.patch(CATEGORY, Can.MANAGE, response=CategoryItem)
def change_category(
    request: ApiRequest, response: HttpResponse, access: Access, category: int, body: ChangedCategory
) -> CategoryItem:
    """Change the name or the color of a category."""
    found = category_at(access.project, category)
    seen = seen_of(found) if check_if_match(request, _etag(found)) else None
    data = {"name": found.name, "hue": found.hue} | body.dict(exclude_unset=True)
    wanted = check(label_forms.CategoryForm(data, others=list(found.label_set.categories.exclude(pk=found.pk))))
    with named(_OF_CATEGORY), unless_stale(lambda: _etag(category_at(access.project, category))):
        saved = update_category(category=found, name=wanted["name"], hue=wanted["hue"], seen=seen, actor=access.user)
    return _said(response, saved)


@router.post(f"{CATEGORY}/move", Can.MANAGE, response=CategoryItem)
def move_category_to(access: Access, category: int, body: NewPosition) -> CategoryItem:
    """Move a category to another place. A place after the last one is the last one."""
    found = category_at(access.project, category)
    move_category(category=found, position=check(label_forms.MoveForm(body.dict()))["position"], actor=access.user)
    return CategoryItem.from_orm(category_at(access.project, category))


@router.delete(CATEGORY, Can.MANAGE, response={204: None})
def remove_category(access: Access, category: int) -> None:
    """Delete a category without labels."""
    delete_category(category=category_at(access.project, category), actor=access.user)


def _said(response: HttpResponse, row: Category) -> CategoryItem:
    response["ETag"] = _etag(row)
    return CategoryItem.from_orm(row)
