"""SCIM 2.0 (RFC 7644): a provider pushes users and groups. deidreview.scim has checked the token and the size before.

`urls` imports this module, and with it the library, at the first request.
"""

from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from scim2_models import Context, ListResponse, Meta, NotFoundException, Resource, ResourceType, Schema, SearchRequest

from annotations.core.api.routes import Problem
from annotations.formats.files.json_files import JsonError, read_object
from annotations.models import ProvisionedUser
from annotations.projects.rules import ProvisioningProvider
from annotations.projects.services.providers.scim import groups, resources, users
from annotations.projects.services.providers.scim.errors import MEDIA_TYPE

_TAKEN: Final = (MEDIA_TYPE, "application/json")


class ScimRequest(HttpRequest):
    """A request with a valid token of the provider."""

    provider: ProvisioningProvider


# Modules with the same functions: `rows_of`, `create`, `replace`, `patch`, `delete` and `model_of`.
_KINDS: Final[Mapping[str, ModuleType]] = {"Users": users, "Groups": groups}


def _kind(request: ScimRequest, name: str) -> ModuleType:
    """Return the module of users or groups. Raises Http404 where the provider pushes no groups."""
    if name == "Groups" and not request.provider.scim_groups:
        raise Http404
    return _KINDS[name]


@require_http_methods(["GET", "POST"])
def all_of_kind(request: ScimRequest, kind: str) -> HttpResponse:
    """List users or groups, or create one."""
    found = _kind(request, kind)
    if request.method == "GET":
        return _page(request, found, request.GET)
    row = found.create(request.provider, _body(request))
    wanted = resources.asked(request.GET, found.model_of(request.provider))
    return _answer(_resource(request, row, wanted), wanted, 201)


@require_POST
def search(request: ScimRequest, kind: str = "") -> HttpResponse:
    """List users or groups, as a POST asks, so that no name is in an address.

    A search of both together, which no provider needs (RFC 7644, section 3.4.3), is refused.
    """
    if not kind:
        raise Problem(501, "search", "Search users and groups one by one: Users/.search, Groups/.search.")
    return _page(request, _kind(request, kind), _body(request))


@require_http_methods(["GET", "PUT", "PATCH", "DELETE"])
def one_of_kind(request: ScimRequest, kind: str, pk: UUID) -> HttpResponse:
    """Show, replace, change or delete a user or a group."""
    found = _kind(request, kind)
    wanted = resources.asked(request.GET, found.model_of(request.provider))
    if request.method == "DELETE":
        found.delete(request.provider, pk)
        return HttpResponse(status=204)
    if request.method == "GET":
        row = found.rows_of(request.provider).filter(pk=pk).first()
    else:
        change = found.replace if request.method == "PUT" else found.patch
        row = change(request.provider, pk, _body(request))
    if row is None:
        raise NotFoundException(detail=f"There is no such {kind.removesuffix('s').lower()}.")
    return _answer(_resource(request, row, wanted), wanted)


# ── What this service offers ─────────────────────────────────────────────────────────────────────────────────────────


@require_safe
def config(request: ScimRequest) -> HttpResponse:
    """What this service can do."""
    found = resources.config()
    found.meta = Meta(resource_type="ServiceProviderConfig", location=_links(request).to("scim_config"))
    return _answer(found)


@require_safe
def resource_types(request: ScimRequest, key: str = "") -> HttpResponse:
    """The kinds of resources, or one of them."""
    found = resources.described_types(resources.resource_types(request.provider), _links(request))
    return _described(request, found, ResourceType, key)


@require_safe
def schemas(request: ScimRequest, key: str = "") -> HttpResponse:
    """The schemas of the resources, or one of them."""
    found = resources.described_schemas(resources.resource_types(request.provider), _links(request))
    return _described(request, found, Schema, key)


def _described(request: HttpRequest, found: list[Any], model: type[Resource[Any]], key: str) -> HttpResponse:
    if "filter" in request.GET:
        # RFC 7644, section 4.
        raise Problem(403, "filter", "This address can't be filtered.")
    if not key:
        return _list(found, len(found), None, model)
    one = next((one for one in found if one.id == key), None)
    if one is None:
        raise Http404
    return _answer(one)


# ── Requests and responses ───────────────────────────────────────────────────────────────────────────────────────────


def _links(request: ScimRequest) -> resources.Links:
    return resources.Links(f"{request.scheme}://{request.get_host()}", request.provider.id)


def _body(request: HttpRequest) -> dict[str, Any]:
    if request.content_type not in _TAKEN:
        raise Problem(415, "media-type", f"The request must be {MEDIA_TYPE} or application/json.")
    try:
        return read_object(request.body)
    except JsonError as error:
        raise Problem(400, "malformed", str(error)) from None


def _resource(request: ScimRequest, row: Any, wanted: SearchRequest[Any]) -> Resource[Any]:
    if isinstance(row, ProvisionedUser):
        return resources.user_resource(row, _links(request), resources.model_of_users(request.provider))
    return resources.group_resource(row, _links(request), with_members=resources.wants_members(wanted))


def _page(request: ScimRequest, kind: ModuleType, query: Mapping[str, Any]) -> HttpResponse:
    model = kind.model_of(request.provider)
    wanted = resources.asked(query, model)
    total, rows = resources.page_of(kind.rows_of(request.provider), wanted, model, kind.MOST)
    return _list([_resource(request, row, wanted) for row in rows], total, wanted, model)


def _answer(resource: Resource[Any], wanted: SearchRequest[Any] | None = None, status: int = 200) -> HttpResponse:
    text = resource.model_dump_json(scim_ctx=Context.RESOURCE_QUERY_RESPONSE, response_parameters=wanted)
    response = HttpResponse(text, status=status, content_type=MEDIA_TYPE)
    if status == 201 and resource.meta and resource.meta.location:
        response.headers["Location"] = resource.meta.location
    return response


def _list(found: list[Any], total: int, wanted: SearchRequest[Any] | None, model: type[Resource[Any]]) -> HttpResponse:
    start_index = (wanted and wanted.start_index) or 1
    page = resources.parametrized(ListResponse, model)(
        total_results=total, start_index=start_index, items_per_page=len(found), resources=found
    )
    text = page.model_dump_json(scim_ctx=Context.RESOURCE_QUERY_RESPONSE, response_parameters=wanted)
    return HttpResponse(text, content_type=MEDIA_TYPE)
