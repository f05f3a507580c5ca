"""Users and groups as SCIM describes them (RFC 7643), with the attributes that are kept here. Others are ignored."""

import uuid
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any, Final, TypeVar

import scim2_models as scim
from django.db.models import Model, Q, QuerySet
from django.urls import reverse
from ninja import Field
from scim2_models.path import CompareOperator, Comparison, FilterNode, LogicalExpr, LogicalOperator

from annotations.formats.files.json_files import texts_in
from annotations.models import ProvisionedGroup, ProvisionedUser
from annotations.projects.rules import ProvisioningProvider

Row = TypeVar("Row", bound=Model)
Sent = TypeVar("Sent", bound=scim.Resource[Any])
# As Entra ID needs it: it sends attributes that we don't keep, and changes that RFC 7644 does not know.
POLICY: Final = scim.ScimPolicy(
    unknown=scim.ScimPolicy.Unknown.ignore,
    remove_value_as_filter=scim.ScimPolicy.RemoveValue.apply,
    unmatched_path_filter=scim.ScimPolicy.UnmatchedPathFilter.create,
)
LONGEST: Final = 255
MOST_EMAILS: Final = 20
MOST_OPERATIONS: Final = 1000
# Users on one page.
MOST_USERS: Final = 200


class Name(scim.ComplexAttribute):
    formatted: str | None = None
    family_name: str | None = None
    given_name: str | None = None


class Email(scim.ComplexAttribute):
    value: str | None = None
    type: str | None = None
    primary: bool | None = None


class ScimUser(scim.Resource[Any]):
    """A user. A request may leave out `active`: see `users.with_active`."""

    __schema__ = scim.User.__schema__

    user_name: Annotated[str | None, scim.Required.true, scim.Uniqueness.server] = None
    name: Name | None = None
    display_name: str | None = None
    emails: list[Email] | None = None
    active: Annotated[bool | None, scim.Required.true] = None


class IdentifiedPerson(ScimUser):
    """A user of a provider whose people are recognized by `externalId` at sign-in."""

    external_id: Annotated[str | None, scim.Required.true, scim.CaseExact.true] = None


class Member(scim.ComplexAttribute):
    value: Annotated[str | None, scim.Required.true, scim.CaseExact.true] = None
    ref: scim.Reference[scim.User[Any]] | None = Field(None, serialization_alias="$ref", validation_alias="$ref")


class PeopleGroup(scim.Resource[Any]):
    __schema__ = scim.Group.__schema__

    display_name: Annotated[str | None, scim.Required.true, scim.CaseExact.true, scim.Uniqueness.server] = None
    members: list[Member] | None = None


def model_of_users(provider: ProvisioningProvider) -> type[ScimUser]:
    return IdentifiedPerson if provider.scim_subject == "externalId" else ScimUser


def resource_types(provider: ProvisioningProvider) -> list[type[scim.Resource[Any]]]:
    return [model_of_users(provider), *([PeopleGroup] if provider.scim_groups else [])]


# ── From rows to resources ───────────────────────────────────────────────────────────────────────────────────────────


class Links:
    """The addresses of a provider's resources. `site` is the address under which the request reached the app."""

    def __init__(self, site: str, provider: str) -> None:
        self._site, self._provider = site, provider

    def to(self, name: str, *more: object) -> str:
        return self._site + reverse(name, args=[self._provider, *more])


def user_resource(row: ProvisionedUser, links: Links, model: type[ScimUser]) -> ScimUser:
    """Return the user as the provider sent it."""
    meta = _meta("User", row, links.to("scim_user", row.pk))
    found = model.model_validate(
        {**row.said, "userName": row.user_name, "externalId": row.external_id or None, "active": row.active},
        scim_policy=POLICY,
    )
    found.id, found.meta = str(row.pk), meta
    return found


def group_resource(row: ProvisionedGroup, links: Links, *, with_members: bool = True) -> PeopleGroup:
    """Return the group. Of a large group, leave the members out where nobody wants them."""
    members = [
        Member(value=str(pk), ref=scim.Reference[scim.User[Any]](links.to("scim_user", pk)))
        for pk in (row.members.values_list("pk", flat=True) if with_members else ())
    ]
    meta = _meta("Group", row, links.to("scim_group", row.pk))
    return PeopleGroup(
        id=str(row.pk), meta=meta, display_name=row.name, external_id=row.external_id or None, members=members or None
    )


def _meta(kind: str, row: ProvisionedUser | ProvisionedGroup, location: str) -> scim.Meta:
    return scim.Meta(resource_type=kind, created=row.created_at, last_modified=row.changed_at, location=location)


# ── What a request may contain ───────────────────────────────────────────────────────────────────────────────────────


def check_size(resource: ScimUser | PeopleGroup) -> None:
    """Raise InvalidValueException for a text that is too long, or too many e-mail addresses."""
    said = resource.model_dump(exclude={"members", "meta", "schemas", "id"})
    if any(len(text) > LONGEST for text in texts_in(said)):
        raise scim.InvalidValueException(detail=f"A value can have at most {LONGEST} characters.")
    if isinstance(resource, ScimUser) and len(resource.emails or ()) > MOST_EMAILS:
        raise scim.InvalidValueException(detail=f"A user can have at most {MOST_EMAILS} e-mail addresses.")


def said_by(resource: ScimUser) -> dict[str, Any]:
    """Return the attributes of a user that have no column of their own."""
    kept: dict[str, Any] = resource.model_dump(
        include={"name", "display_name", "emails"}, scim_ctx=scim.Context.DEFAULT
    )
    return {key: value for key, value in kept.items() if key != "schemas"}


def read(model: type[Sent], body: Mapping[str, Any], context: scim.Context) -> Sent:
    """Read the body of a request. Raises ValueError with the errors of SCIM."""
    return model.model_validate(body, scim_ctx=context, scim_policy=POLICY)


def operations_of(model: type[scim.Resource[Any]], body: Mapping[str, Any]) -> Any:
    """Read the operations of a PATCH. Raises ValueError with the errors of SCIM."""
    if any(isinstance(value, list) and len(value) > MOST_OPERATIONS for value in body.values()):
        raise scim.InvalidValueException(detail=f"A request can have at most {MOST_OPERATIONS} operations.")
    return read(parametrized(scim.PatchOp, model), body, scim.Context.RESOURCE_PATCH_REQUEST)


@cache
def parametrized(generic: Any, model: type[scim.Resource[Any]]) -> Any:
    """The generic class for a model. Making such a class takes milliseconds."""
    return generic[model]


# ── What this service offers ─────────────────────────────────────────────────────────────────────────────────────────


def config() -> scim.ServiceProviderConfig:
    return scim.ServiceProviderConfig(
        patch=scim.Patch(supported=True),
        bulk=scim.Bulk(supported=False, max_operations=0, max_payload_size=0),
        filter=scim.Filter(supported=True, max_results=MOST_USERS),
        change_password=scim.ChangePassword(supported=False),
        sort=scim.Sort(supported=False),
        etag=scim.ETag(supported=False),
        authentication_schemes=[
            scim.AuthenticationScheme(
                type=scim.AuthenticationScheme.Type.oauthbearertoken,
                name="Bearer token",
                description="The token that the command create_scim_token printed.",
                primary=True,
            )
        ],
    )


def described_types(models: Iterable[type[scim.Resource[Any]]], links: Links) -> list[scim.ResourceType]:
    found = []
    for model in models:
        one = scim.ResourceType.from_resource(model)
        one.meta = scim.Meta(resource_type="ResourceType", location=links.to("scim_resource_type", one.id))
        found.append(one)
    return found


def described_schemas(models: Iterable[type[scim.Resource[Any]]], links: Links) -> list[scim.Schema]:
    found = []
    for model in models:
        one = model.to_schema()
        one.name = one.description = str(one.id).rpartition(":")[2]
        one.meta = scim.Meta(resource_type="Schema", location=links.to("scim_schema", one.id))
        found.append(one)
    return found


# Filters and pages of SCIM lists (RFC 7644, section 3.4.2), as queries of the database.


# What a request may ask for, as the addresses name it. `sortBy` is ignored, since lists are not sorted.
_ASKED: Final = ("filter", "startIndex", "count", "attributes", "excludedAttributes")
# The columns by which lists can be filtered.
_COLUMNS: Final[Mapping[type[scim.Resource[Any]], Mapping[str, str]]] = {
    ScimUser: {"id": "pk", "user_name": "name_key", "external_id": "external_id", "active": "active"},
    PeopleGroup: {"id": "pk", "display_name": "name", "external_id": "external_id", "members.value": "members"},
}
LONGEST_FILTER: Final = 2000
# No list is longer.
_MOST: Final = 2**31


def asked(query: Mapping[str, Any], model: type[scim.Resource[Any]]) -> Any:
    """Return what an address or the body of a search asks for. Raises ValueError with the errors of SCIM."""
    if len(str(query.get("filter", ""))) > LONGEST_FILTER:
        raise scim.InvalidFilterException(detail=f"A filter can have at most {LONGEST_FILTER} characters.")
    given = {name: query[name] for name in _ASKED if query.get(name) not in (None, "")}
    return parametrized(scim.SearchRequest, model).model_validate(given)


def page_of(
    rows: QuerySet[Row], wanted: scim.SearchRequest[Any], model: type[scim.Resource[Any]], most: int
) -> tuple[int, list[Row]]:
    """Return how many rows match, and those of the page. Raises InvalidFilterException."""
    if wanted.filter:
        columns = next(columns for known, columns in _COLUMNS.items() if issubclass(model, known))
        rows = rows.filter(_condition(wanted.filter, wanted.filter.ast, columns)).distinct()
    start = min(wanted.start_index_0 or 0, _MOST)
    count = most if wanted.count is None else min(wanted.count, most)
    return rows.count(), list(rows[start : start + count])


def _condition(filtering: scim.ScimFilter[Any], node: FilterNode, columns: Mapping[str, str]) -> Q:
    if isinstance(node, LogicalExpr):
        terms = [_condition(filtering, one, columns) for one in node.terms]
        return Q(*terms, _connector=Q.AND if node.op == LogicalOperator.and_ else Q.OR)
    if not isinstance(node, Comparison) or node.op != CompareOperator.eq:
        raise _unsupported(columns)
    binding = filtering.resolve_comparison(node.attr_path)
    assert binding is not None
    name = ".".join(filter(None, (binding.field_name, binding.sub_field_name)))
    if name not in columns:
        raise _unsupported(columns)
    column, value = columns[name], node.value
    if column in ("pk", "members"):
        return Q(**{column: id_of(value)})
    if column == "active":
        return Q(active=value is True)
    return Q(**{column: scim.default_comparison_key(binding, value) if column == "name_key" else value or ""})


def _unsupported(columns: Mapping[str, str]) -> scim.InvalidFilterException:
    names = {"user_name": "userName", "external_id": "externalId", "display_name": "displayName"}
    known = ", ".join(names.get(one, one) for one in columns)
    return scim.InvalidFilterException(detail=f"A filter compares by “eq”, joined by “and” or “or”, one of: {known}.")


def id_of(value: object) -> uuid.UUID | None:
    """Return the id that the text names; None for every other text, which no resource has."""
    try:
        return uuid.UUID(str(value))
    except ValueError:
        return None


def wants_members(wanted: scim.SearchRequest[Any]) -> bool:
    """Whether the answer has the members of groups, of which there may be thousands."""
    named = {str(path).rpartition(":")[2].partition(".")[0].lower() for path in wanted.attributes or ()}
    excluded = {str(path).rpartition(":")[2].lower() for path in wanted.excluded_attributes or ()}
    return ("members" in named if named else True) and "members" not in excluded
