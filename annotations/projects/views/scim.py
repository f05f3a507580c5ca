"""SCIM 2.0 (RFC 7644): a provider pushes users and groups. deidreview.scim has checked the token and the size before.

The library is imported only when a provider pushes accounts.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotations.core.api.problems import Problem
from annotations.formats.files.json_files import JsonError, read_object
from annotations.projects.rules import ProvisioningProvider
from annotations.projects.services.providers.scim.errors import MEDIA_TYPE

if TYPE_CHECKING:
    from uuid import UUID

    from scim2_models import Resource, SearchRequest

    from annotations.projects.services.providers.scim.resources import Links

_TAKEN: Final = (MEDIA_TYPE, "application/json")


class ScimRequest(HttpRequest):
    """A request with a valid token of the provider."""

    provider: ProvisioningProvider


@login_not_required
@csrf_exempt
@require_http_methods(["GET", "POST"])
def users(request: HttpRequest, provider_id: str) -> HttpResponse:
    """List users, or create one."""
    from annotations.projects.services.providers.scim import queries, resources
    from annotations.projects.services.providers.scim import users as services

    pushing = _pushing(request)
    model = resources.model_of_users(pushing.provider)
    if request.method == "GET":
        return _page_of_users(pushing, request.GET)
    row = services.create_user(pushing.provider, _body(request))
    wanted = queries.asked(request.GET, model)
    return _answer(resources.user_resource(row, _links(pushing), model), wanted, 201)


@login_not_required
@csrf_exempt
@require_POST
def users_search(request: HttpRequest, provider_id: str) -> HttpResponse:
    """List users, as a POST asks, so that no name is in an address."""
    return _page_of_users(_pushing(request), _body(request))


@login_not_required
@csrf_exempt
@require_http_methods(["GET", "PUT", "PATCH", "DELETE"])
def user(request: HttpRequest, provider_id: str, pk: "UUID") -> HttpResponse:
    """Show, replace, change or delete a user."""
    from scim2_models import NotFoundException

    from annotations.projects.services.providers.scim import queries, resources
    from annotations.projects.services.providers.scim import users as services

    pushing = _pushing(request)
    model = resources.model_of_users(pushing.provider)
    wanted = queries.asked(request.GET, model)
    if request.method == "DELETE":
        services.delete_user(pushing.provider, pk)
        return HttpResponse(status=204)
    if request.method == "GET":
        row = services.users_of(pushing.provider).filter(pk=pk).first()
    elif request.method == "PUT":
        row = services.replace_user(pushing.provider, pk, _body(request))
    else:
        row = services.patch_user(pushing.provider, pk, _body(request))
    if row is None:
        raise NotFoundException(detail="There is no such user.")
    return _answer(resources.user_resource(row, _links(pushing), model), wanted)


@login_not_required
@csrf_exempt
@require_http_methods(["GET", "POST"])
def groups(request: HttpRequest, provider_id: str) -> HttpResponse:
    """List groups, or create one."""
    from annotations.projects.services.providers.scim import groups as services
    from annotations.projects.services.providers.scim import queries, resources

    pushing = _pushing(request, with_groups=True)
    if request.method == "GET":
        return _page_of_groups(pushing, request.GET)
    row = services.create_group(pushing.provider, _body(request))
    wanted = queries.asked(request.GET, resources.PeopleGroup)
    return _answer(resources.group_resource(row, _links(pushing)), wanted, 201)


@login_not_required
@csrf_exempt
@require_POST
def groups_search(request: HttpRequest, provider_id: str) -> HttpResponse:
    """List groups, as a POST asks."""
    return _page_of_groups(_pushing(request, with_groups=True), _body(request))


@login_not_required
@csrf_exempt
@require_http_methods(["GET", "PUT", "PATCH", "DELETE"])
def group(request: HttpRequest, provider_id: str, pk: "UUID") -> HttpResponse:
    """Show, replace, change or delete a group."""
    from scim2_models import NotFoundException

    from annotations.projects.services.providers.scim import groups as services
    from annotations.projects.services.providers.scim import queries, resources

    pushing = _pushing(request, with_groups=True)
    wanted = queries.asked(request.GET, resources.PeopleGroup)
    if request.method == "DELETE":
        services.delete_group(pushing.provider, pk)
        return HttpResponse(status=204)
    if request.method == "GET":
        row = services.groups_of_provider(pushing.provider).filter(pk=pk).first()
    elif request.method == "PUT":
        row = services.replace_group(pushing.provider, pk, _body(request))
    else:
        row = services.patch_group(pushing.provider, pk, _body(request))
    if row is None:
        raise NotFoundException(detail="There is no such group.")
    full = queries.wants_members(wanted)
    return _answer(resources.group_resource(row, _links(pushing), with_members=full), wanted)


@login_not_required
@csrf_exempt
@require_POST
def search(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Refuse a search of users and groups together, which no provider needs (RFC 7644, section 3.4.3)."""
    raise Problem(501, "search", "Search users and groups one by one: Users/.search, Groups/.search.")


# ── What this service offers ─────────────────────────────────────────────────────────────────────────────────────────


@login_not_required
@require_safe
def config(request: HttpRequest, provider_id: str) -> HttpResponse:
    """What this service can do."""
    from scim2_models import Meta

    from annotations.projects.services.providers.scim import resources

    found = resources.config()
    found.meta = Meta(resource_type="ServiceProviderConfig", location=_links(_pushing(request)).to("scim_config"))
    return _answer(found)


@login_not_required
@require_safe
def resource_types(request: HttpRequest, provider_id: str, key: str = "") -> HttpResponse:
    """The kinds of resources, or one of them."""
    from scim2_models import ResourceType

    from annotations.projects.services.providers.scim import resources

    pushing = _pushing(request)
    found = resources.described_types(resources.resource_types(pushing.provider), _links(pushing))
    return _described(request, found, ResourceType, key)


@login_not_required
@require_safe
def schemas(request: HttpRequest, provider_id: str, key: str = "") -> HttpResponse:
    """The schemas of the resources, or one of them."""
    from scim2_models import Schema

    from annotations.projects.services.providers.scim import resources

    pushing = _pushing(request)
    found = resources.described_schemas(resources.resource_types(pushing.provider), _links(pushing))
    return _described(request, found, Schema, key)


def _described(request: HttpRequest, found: "list[Any]", model: "type[Resource[Any]]", key: str) -> HttpResponse:
    if "filter" in request.GET:
        # RFC 7644, section 4.
        raise Problem(403, "filter", "This address can't be filtered.")
    if not key:
        return _list(found, len(found), None, model)
    one = next((one for one in found if one.id == key), None)
    if one is None:
        raise Http404
    return _answer(one)


# ── Pages ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _page_of_users(request: ScimRequest, query: Mapping[str, Any]) -> HttpResponse:
    from annotations.projects.services.providers.scim import queries, resources
    from annotations.projects.services.providers.scim import users as services

    model = resources.model_of_users(request.provider)
    wanted = queries.asked(query, model)
    total, rows = queries.page_of(services.users_of(request.provider), wanted, model, resources.MOST_USERS)
    return _list([resources.user_resource(row, _links(request), model) for row in rows], total, wanted, model)


def _page_of_groups(request: ScimRequest, query: Mapping[str, Any]) -> HttpResponse:
    from annotations.projects.services.providers.scim import groups as services
    from annotations.projects.services.providers.scim import queries, resources

    wanted = queries.asked(query, resources.PeopleGroup)
    rows = services.groups_of_provider(request.provider)
    total, found = queries.page_of(rows, wanted, resources.PeopleGroup, resources.MOST_GROUPS)
    full = queries.wants_members(wanted)
    shown = [resources.group_resource(row, _links(request), with_members=full) for row in found]
    return _list(shown, total, wanted, resources.PeopleGroup)


# ── Requests and responses ───────────────────────────────────────────────────────────────────────────────────────────


def _pushing(request: HttpRequest, *, with_groups: bool = False) -> ScimRequest:
    """Return the request with its provider. Raises Http404 where the provider pushes no groups."""
    found = cast(ScimRequest, request)  # The middleware has set its provider.
    if with_groups and not found.provider.scim_groups:
        raise Http404
    return found


def _links(request: ScimRequest) -> "Links":
    from annotations.projects.services.providers.scim.resources import Links

    return Links(f"{request.scheme}://{request.get_host()}", request.provider.id)


def _body(request: HttpRequest) -> dict[str, Any]:
    if request.content_type not in _TAKEN:
        raise Problem(415, "media-type", f"The request must be {MEDIA_TYPE} or application/json.")
    try:
        return read_object(request.body)
    except JsonError as error:
        raise Problem(400, "malformed", str(error)) from None


def _answer(resource: "Resource[Any]", wanted: "SearchRequest[Any] | None" = None, status: int = 200) -> HttpResponse:
    from scim2_models import Context

    text = resource.model_dump_json(scim_ctx=Context.RESOURCE_QUERY_RESPONSE, response_parameters=wanted)
    response = HttpResponse(text, status=status, content_type=MEDIA_TYPE)
    if status == 201 and resource.meta and resource.meta.location:
        response.headers["Location"] = resource.meta.location
    return response


def _list(
    resources: "list[Any]", total: int, wanted: "SearchRequest[Any] | None", model: "type[Resource[Any]]"
) -> HttpResponse:
    from scim2_models import Context

    from annotations.projects.services.providers.scim.resources import listing

    found = listing(model)(
        total_results=total,
        start_index=(wanted and wanted.start_index) or 1,
        items_per_page=len(resources),
        resources=resources,
    )
    text = found.model_dump_json(scim_ctx=Context.RESOURCE_QUERY_RESPONSE, response_parameters=wanted)
    return HttpResponse(text, content_type=MEDIA_TYPE)
