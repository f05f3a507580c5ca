"""The description of the API (OpenAPI) is true: what it allows gets an answer that it names, and nothing gets a 500."""

from collections import Counter
from functools import cache

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import Phase, given, settings
from ninja import Schema
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks

from annotations.core.api.mount import api
from deidreview.wsgi import application
from models_runtime.models import Run
from tests.deidreview.api_table import TABLE
from tests.deidreview.test_api_matrix import build_world_with_spans
from tests.worlds.programs import Program

CHECKS = [
    not_a_server_error, checks.status_code_conformance, checks.content_type_conformance,
    checks.response_headers_conformance, checks.response_schema_conformance,
]  # fmt: skip
ROUTES = api().operations
# By day one route of each module.
BY_DAY = set({ROUTES[name].view_func.__module__: name for name in sorted(ROUTES)}.values())


@pytest.fixture
def one_connection(db):
    """Requests keep the connection, and so the transaction, of the test."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@cache
def operations():
    """The operations of the description by their ids. Reading it takes a second, so all tests share what was read."""
    described = schemathesis.openapi.from_wsgi("/api/openapi.json", application)
    found = [each.ok() for each in described.get_all_operations()]
    return {operation.definition.raw["operationId"]: operation for operation in found}


def build_world():
    """A manager's program, and the objects to which addresses lead, by their names in the API's table."""
    world = build_world_with_spans()
    Run.objects.update(params={"strategy": "rewrite", "prompt": "Rewrite"})
    return Program(world.people["manager"]), world.objects["ours"] | {"slug": "ours"}


@pytest.fixture(scope="module")
def prepared(once):
    return once(build_world)


def marked(name):
    return pytest.param(name, marks=() if name in BY_DAY else pytest.mark.nightly)


@pytest.mark.parametrize("name", [marked(name) for name in sorted(ROUTES)])
def test_what_the_description_says(name, one_connection, prepared):
    """Two requests for a route during the day, always the same ones, and more at night."""
    (program, objects), kinds = prepared, TABLE[name].objects

    @given(case=operations()[name].as_strategy())
    @settings(max_examples=max(2, settings().max_examples // 12), phases=[Phase.generate])
    def send(case):
        given_ids = case.path_parameters or {}
        case.path_parameters = {key: objects.get(kinds.get(key, key), value) for key, value in given_ids.items()}
        case.call_and_validate(checks=CHECKS, headers=program.headers)

    send()


@pytest.mark.django_db
def test_the_description_names_every_route(client):
    described = client.get("/api/openapi.json").json()
    named = {operation["operationId"] for path in described["paths"].values() for operation in path.values()}
    assert named == set(ROUTES)
    assert all("description" in operation for path in described["paths"].values() for operation in path.values())


def test_no_two_schemas_share_a_name():
    """In the description, one of them would stand for both."""

    def all_below(schema):
        return [schema, *(each for one in schema.__subclasses__() for each in all_below(one))]

    own = {one for one in all_below(Schema) if ".api" in one.__module__ and "[" not in one.__name__}
    # The schema of a model extends an unused one of its name.
    own = {one for one in own if one.__name__ not in {below.__name__ for below in one.__subclasses__()}}
    assert [name for name, count in Counter(one.__name__ for one in own).items() if count > 1] == []


def test_the_page_needs_nothing_from_elsewhere(client):
    page = client.get("/api/docs").content.decode()
    assert "http" not in page and "/static/ninja/swagger-ui-bundle.js" in page
