"""Routes of the categories of labels: list, add, change, move and delete."""

from typing import Any, Self

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404
from ninja import Field, Query, Router, Schema
from ninja.responses import Status

from annotations.core.access import Access, Can
from annotations.core.api.etags import matched, outdated
from annotations.core.api.paging import Page, Paging, paged_rows
from annotations.core.api.problems import check, named
from annotations.core.api.requests import ApiRequest, enter
from annotations.core.api.schemas import Body
from annotations.core.errors import ServiceError
from annotations.models import Category, LabelSet
from annotations.projects.forms.labels import CategoryForm, MoveForm, rarest_hue
from annotations.projects.selectors.labels import seen_of
from annotations.projects.services.categories import (
    add_category,
    delete_category,
    move_category,
    update_category,
)

router = Router(tags=["Labels"])
PATH = "/projects/{slug:slug}/categories"
ONE = f"{PATH}/{{int:category}}"
_FIELDS = {"name": "name", "hue": "hue"}


class CategoryItem(Schema):
    """A category of labels. `hue` is its color (0 to 11), `position` its place, counted from 0."""

    id: int
    code: str
    name: str
    hue: int
    position: int

    @classmethod
    def of(cls, row: Category) -> Self:
        return cls(id=row.pk, code=row.code, name=row.name, hue=row.hue, position=row.position)


class NewCategory(Body):
    """A category. Its code is made from the name. Without `hue`, it gets a color that few categories have."""

    name: str
    hue: int | None = Field(None, ge=0, le=11)


class ChangedCategory(Body):
    """What to change of a category; the rest stays. The code never changes."""

    name: str = ""
    hue: int = Field(0, ge=0, le=11)


class NewPosition(Body):
    """The place of the category, counted from 0."""

    position: int


@router.get(PATH, response=Page[CategoryItem])
def list_categories(request: ApiRequest, slug: str, paging: Query[Paging]) -> dict[str, Any] | HttpResponseBase:
    """List the categories by id."""
    access = enter(request, slug)
    rows = Category.objects.filter(label_set__project=access.project)
    return paged_rows(request, paging, rows, CategoryItem.of)


@router.post(PATH, response={201: CategoryItem})
def new_category(request: ApiRequest, slug: str, body: NewCategory) -> Status[CategoryItem]:
    """Add a category at the end of the list."""
    access = enter(request, slug, Can.MANAGE)
    label_set = get_object_or_404(LabelSet, project=access.project)
    others = list(label_set.categories.all())
    hue = rarest_hue(others) if body.hue is None else body.hue
    wanted = check(CategoryForm({"name": body.name, "hue": hue}, others=others))
    with named(_FIELDS):
        made = add_category(label_set=label_set, name=wanted["name"], hue=wanted["hue"], actor=access.user)
    return Status(201, CategoryItem.of(made))


@router.get(ONE, response=CategoryItem)
def read_category(request: ApiRequest, response: HttpResponse, slug: str, category: int) -> CategoryItem:
    """Read a category. The ETag stands for its name and color."""
    return _said(response, _category(enter(request, slug), category))


@router.patch(ONE, response=CategoryItem)
def change_category(
    request: ApiRequest, response: HttpResponse, slug: str, category: int, body: ChangedCategory
) -> CategoryItem:
    """Change the name or the color of a category."""
    access = enter(request, slug, Can.MANAGE)
    found = _category(access, category)
    seen = seen_of(found) if matched(request, _etag(found)) else None
    data = {"name": found.name, "hue": found.hue} | body.dict(exclude_unset=True)
    wanted = check(CategoryForm(data, others=list(found.label_set.categories.exclude(pk=found.pk))))
    try:
        with named(_FIELDS):
            saved = update_category(
                category=found, name=wanted["name"], hue=wanted["hue"], seen=seen, actor=access.user
            )
    except ServiceError as error:
        if error.code != "stale":
            raise
        raise outdated(_etag(_category(access, category))) from error
    return _said(response, saved)


@router.post(f"{ONE}/move", response=CategoryItem)
def move_category_to(request: ApiRequest, slug: str, category: int, body: NewPosition) -> CategoryItem:
    """Move a category to another place. A place after the last one is the last one."""
    access = enter(request, slug, Can.MANAGE)
    found = _category(access, category)
    move_category(category=found, position=check(MoveForm(body.dict()))["position"], actor=access.user)
    return CategoryItem.of(_category(access, category))


@router.delete(ONE, response={204: None})
def remove_category(request: ApiRequest, slug: str, category: int) -> Status[None]:
    """Delete a category without labels."""
    access = enter(request, slug, Can.MANAGE)
    delete_category(category=_category(access, category), actor=access.user)
    return Status(204, None)


def _category(access: Access, pk: int) -> Category:
    rows = Category.objects.select_related("label_set")
    return get_object_or_404(rows, label_set__project=access.project, pk=pk)


def _said(response: HttpResponse, row: Category) -> CategoryItem:
    response["ETag"] = _etag(row)
    return CategoryItem.of(row)


def _etag(row: Category) -> str:
    return f'"{seen_of(row)}"'
