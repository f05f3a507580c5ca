"""Routes of label mappings: list, add, read, change, delete."""

from django.http import HttpResponse
from django.utils.translation import gettext as _
from ninja import Field, Query, Schema

from annotations.core.access import Access, Can
from annotations.core.api.answers import check_if_match, outdated
from annotations.core.api.paging import Page, PageAnswer, Paging, paged_rows
from annotations.core.api.routes import Answer, ApiRequest, Body, ProjectRouter, check, enter, invalid, named
from annotations.core.services import ServiceError
from annotations.exchange import selectors
from annotations.exchange.forms.exports import MappingForm, NewMappingForm
from annotations.exchange.services.label_mappings import add_mapping, change_mapping, delete_mapping
from annotations.models import LabelMapping
from annotations.projects.services.projects import shipped_label_sets

router = ProjectRouter(tags=["Label mappings"])
PATH = "/projects/{slug:slug}/label-mappings"
ONE = f"{PATH}/{{int:mapping}}"


class MappingItem(Schema):
    """A label mapping. `target` is the key of a shipped label set; empty: any codes.

    `open` labels of the project have no choice yet; exports refuse the mapping until none is left.
    """

    id: int
    name: str
    target: str
    open: int


class MappedLabelItem(Answer):
    """A label of the project by its code, its spans in gold, and the code that exports write.

    `code` is null without a choice, and empty if the spans are left out. `suggestion` is a likely code, or empty.
    """

    label: str = Field(validation_alias="label.code")
    spans: int
    code: str | None
    suggestion: str


class MappingWithLabels(MappingItem):
    labels: list[MappedLabelItem]


class NewMapping(Body):
    """A mapping without choices. `target`: the key of a shipped label set; empty: any codes."""

    name: str
    target: str = Field("", max_length=40)


class ChangedMapping(Body):
    """The new name, and written codes by codes of the project's labels. What is not given stays.

    An empty code leaves the spans of the label out; null removes the choice.
    """

    name: str = ""
    codes: dict[str, str | None] = {}


@router.get(PATH, Can.EXPORT, response=Page[MappingItem])
def list_label_mappings(request: ApiRequest, access: Access, paging: Query[Paging]) -> PageAnswer:
    """List the label mappings of a project by id."""
    missing = selectors.open_counts(access.project)

    def item(row: LabelMapping) -> MappingItem:
        return MappingItem(id=row.pk, name=row.name, target=row.target, open=missing.get(row.pk, 0))

    return paged_rows(request, paging, LabelMapping.objects.filter(project=access.project), item)


@router.post(PATH, Can.MANAGE, response={201: MappingWithLabels})
def new_label_mapping(response: HttpResponse, access: Access, body: NewMapping) -> MappingWithLabels:
    """Add a label mapping. The answer suggests a code for each label."""
    wanted = check(NewMappingForm(body.dict(), sets=shipped_label_sets()))
    with named({"name": "name", "target": "target"}):
        made = add_mapping(project=access.project, name=wanted["name"], target=wanted["target"], actor=access.user)
    return _said(response, made)


@router.get(ONE, response=MappingWithLabels)
def read_label_mapping(request: ApiRequest, response: HttpResponse, slug: str, mapping: int) -> MappingWithLabels:
    """Read a label mapping. The ETag stands for the mapping and the labels of the project."""
    return _said(response, selectors.mapping_of(enter(request, slug, Can.EXPORT), mapping))


@router.patch(ONE, Can.MANAGE, response=MappingWithLabels)
def change_label_mapping(
    request: ApiRequest, response: HttpResponse, access: Access, mapping: int, body: ChangedMapping
) -> MappingWithLabels:
    """Change the name of a label mapping, or how it writes labels."""
    row = selectors.mapping_of(access, mapping)
    seen = selectors.seen_of(row) if check_if_match(request, _etag(row)) else None
    lines = selectors.mapping_rows(row)
    data = _data(lines, body) | {"name": row.name if body.name == "" else body.name}
    form = MappingForm(data, lines=lines, target=selectors.target_of(row.target))
    wanted = check(form, {f"code-{line.label.pk}": f"codes.{line.label.code}" for line in lines})
    try:
        with named({"name": "name", "code": "codes", "case": "codes", "label": "codes"}):
            saved = change_mapping(mapping=row, name=wanted["name"], codes=form.codes(), seen=seen, actor=access.user)
    except ServiceError as error:
        if error.code != "stale":
            raise
        raise outdated(_etag(selectors.mapping_of(access, mapping))) from error
    return _said(response, saved)


@router.delete(ONE, Can.MANAGE, response={204: None})
def remove_label_mapping(access: Access, mapping: int) -> None:
    """Delete a label mapping. Exports that have started keep the codes that they started with."""
    delete_mapping(mapping=selectors.mapping_of(access, mapping), actor=access.user)


def _said(response: HttpResponse, mapping: LabelMapping) -> MappingWithLabels:
    response["ETag"] = _etag(mapping)
    rows = selectors.mapping_rows(mapping)
    return MappingWithLabels(
        id=mapping.pk, name=mapping.name, target=mapping.target, open=sum(row.code is None for row in rows),
        labels=[MappedLabelItem.from_orm(row) for row in rows],
    )  # fmt: skip


def _data(lines: list[selectors.MappingRow], body: ChangedMapping) -> dict[str, object]:
    """Return the fields of the page's form. Raises Problem (422) for a label that the project lacks."""
    codes = {line.label.code: line.code for line in lines}
    if unknown := sorted(set(body.codes) - set(codes)):
        raise invalid(*((f"codes.{code}", _("The project has no label with this code.")) for code in unknown))
    wanted = codes | body.codes
    data: dict[str, object] = {}
    for line in lines:
        code = wanted[line.label.code]
        data |= {f"code-{line.label.pk}": code or "", f"out-{line.label.pk}": code == ""}
    return data


def _etag(mapping: LabelMapping) -> str:
    return f'"{selectors.seen_of(mapping)}"'
