"""The API's addresses as a tree: every address leads to the same route as in the plain list of patterns."""

import re

import pytest
from django.urls import Resolver404, URLResolver, path, resolve
from django.urls.resolvers import RegexPattern, RoutePattern

from annotations.core.api.mount import PREFIX, api, match_of

SAMPLES = {"int": "7", "slug": "some-name", "uuidstr": "0b8f3a52-2d1c-4a7e-9d3f-5a1f0c9b7e11"}


def sample(pattern):
    """Return an address that the pattern matches."""
    return PREFIX + re.sub(r"<(\w+):\w+>", lambda found: SAMPLES[found[1]], str(pattern.pattern))


def plain():
    patterns, app, space = api().urls
    return URLResolver(RegexPattern("^/"), [path(PREFIX.removeprefix("/"), (patterns, app, space))])


def test_the_tree_and_the_list_of_patterns_lead_to_the_same_routes():
    listed = plain()
    found = [sample(pattern) for pattern in api().urls[0]]
    assert len(found) == len(api().operations) + 1, "every route, and the address of the API itself"
    for address in found:
        one, other = match_of(address), listed.resolve(address)
        assert (one.view_name, one.route, one.kwargs) == (other.view_name, other.route, other.kwargs), address


def test_the_pages_know_no_address_of_the_api_and_the_api_no_page():
    for unknown in ("/api/v1/projects", "/api/v1/projects/demo/notes/7/annotations/spans"):
        with pytest.raises(Resolver404):
            resolve(unknown)
    for unknown in ("/api/v1/projects/demo/nothing", "/api/v1/notes/7", "/api/v2/projects", "/"):
        with pytest.raises(Resolver404):
            match_of(unknown)


def test_a_request_tries_few_patterns(monkeypatch):
    tried = []
    match = RoutePattern.match

    def counted(pattern, address):
        tried.append(pattern)
        return match(pattern, address)

    monkeypatch.setattr(RoutePattern, "match", counted)
    assert match_of("/api/v1/projects/demo/notes/7/annotations/spans").url_name == "create_span"
    assert len(tried) < 50 < len(api().operations)
