"""Filters and pages of SCIM lists (RFC 7644, section 3.4.2), as queries of the database."""

import uuid
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, TypeVar, cast

from django.db.models import Model, Q, QuerySet
from scim2_models import InvalidFilterException, Resource, ScimFilter, SearchRequest, default_comparison_key
from scim2_models.path import CompareOperator, Comparison, FilterNode, LogicalExpr, LogicalOperator

from annotations.projects.services.providers.scim.resources import PeopleGroup, ScimUser

Row = TypeVar("Row", bound=Model)
# What a request may ask for, as the addresses name it. `sortBy` is ignored, since lists are not sorted.
_ASKED: Final = ("filter", "startIndex", "count", "attributes", "excludedAttributes")
# The columns by which lists can be filtered.
_COLUMNS: Final[Mapping[type[Resource[Any]], Mapping[str, str]]] = {
    ScimUser: {"id": "pk", "user_name": "name_key", "external_id": "external_id", "active": "active"},
    PeopleGroup: {"id": "pk", "display_name": "name", "external_id": "external_id", "members.value": "members"},
}
LONGEST_FILTER: Final = 2000
# No list is longer.
_MOST: Final = 2**31


def asked(query: Mapping[str, Any], model: type[Resource[Any]]) -> SearchRequest[Any]:
    """Return what an address or the body of a search asks for. Raises ValueError with the errors of SCIM."""
    if len(str(query.get("filter", ""))) > LONGEST_FILTER:
        raise InvalidFilterException(detail=f"A filter can have at most {LONGEST_FILTER} characters.")
    return _searching(model).model_validate({name: query[name] for name in _ASKED if query.get(name) not in (None, "")})


@cache
def _searching(model: type[Resource[Any]]) -> type[SearchRequest[Any]]:
    """Making such a class takes milliseconds."""
    return cast("type[SearchRequest[Any]]", SearchRequest.__class_getitem__(model))


def page_of(
    rows: QuerySet[Row], wanted: SearchRequest[Any], model: type[Resource[Any]], most: int
) -> tuple[int, list[Row]]:
    """Return how many rows match, and those of the page. Raises InvalidFilterException."""
    if wanted.filter:
        columns = next(columns for known, columns in _COLUMNS.items() if issubclass(model, known))
        rows = rows.filter(_condition(wanted.filter, wanted.filter.ast, columns)).distinct()
    start = min(wanted.start_index_0 or 0, _MOST)
    count = most if wanted.count is None else min(wanted.count, most)
    return rows.count(), list(rows[start : start + count])


def _condition(filtering: ScimFilter[Any], node: FilterNode, columns: Mapping[str, str]) -> Q:
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
    return Q(**{column: default_comparison_key(binding, value) if column == "name_key" else value or ""})


def _unsupported(columns: Mapping[str, str]) -> InvalidFilterException:
    names = {"user_name": "userName", "external_id": "externalId", "display_name": "displayName"}
    known = ", ".join(names.get(one, one) for one in columns)
    return InvalidFilterException(detail=f"A filter compares by “eq”, joined by “and” or “or”, one of: {known}.")


def id_of(value: object) -> uuid.UUID | None:
    """Return the id that the text names; None for every other text, which no resource has."""
    try:
        return uuid.UUID(str(value))
    except ValueError:
        return None


def wants_members(wanted: SearchRequest[Any]) -> bool:
    """Whether the answer has the members of groups, of which there may be thousands."""
    named = {str(path).rpartition(":")[2].partition(".")[0].lower() for path in wanted.attributes or ()}
    excluded = {str(path).rpartition(":")[2].lower() for path in wanted.excluded_attributes or ()}
    return ("members" in named if named else True) and "members" not in excluded
