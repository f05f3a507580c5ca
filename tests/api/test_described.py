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
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from annotations.api.mount import api
from annotations.models import AnnotationSet, Comment, Flag, Job, LabelMapping, MajorityAct, Membership
from deidreview.wsgi import application
from tests.api.objects import objects_of
from tests.api.review_objects import review_objects
from tests.factories import label_of, make_set

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


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


@pytest.fixture
def ids(world, name) -> dict[str, object]:
    """The objects to which addresses lead, by the name of the parameter."""
    made = objects_of(world, api().operations[name].path)
    held = AnnotationSet.objects.filter(document=world.note, author__user=world.manager).first()
    held = held or make_set(world.note, world.manager, [(0, 11, "PATIENT")])
    job = Job.objects.create(project=world.project, kind="gold", key="described")
    return {
        "slug": world.project.slug,
        "note": world.note.pk,
        "annotation_set": held.pk,
        "span": held.spans.get().pk,
        "job": job.number,
        "label": label_of(world.project, "CITY").pk,
        "comment": Comment.objects.create(document=world.note, author=world.manager, text="A word.").pk,
        "flag": Flag.objects.create(document=world.note, user=world.manager, reason="unsure").pk,
        "start": 0,
        "end": 11,
        "vote": str(MajorityAct.objects.create(project=world.project, user=world.manager, planned=1).pk),
        "category": label_of(world.project, "CITY").category_id,
        "mapping": LabelMapping.objects.create(project=world.project, name="Partner").pk,
        "member": Membership.objects.get(project=world.project, user=world.manager).pk,
        **made,
        **review_objects(world, api().operations[name].path),
    }


@pytest.mark.parametrize("name", sorted(api().operations))
def test_what_the_description_says(name, one_connection, world, ids):
    """Two requests for each route during the day, always the same ones, and more at night."""

    @given(case=operations()[name].as_strategy())
    @settings(max_examples=max(2, settings().max_examples // 12), phases=[Phase.generate])
    def send(case):
        case.path_parameters = {key: ids.get(key, value) for key, value in (case.path_parameters or {}).items()}
        case.call_and_validate(checks=CHECKS, headers=world.program.headers)

    send()


@pytest.mark.django_db
def test_the_description_names_every_route(client):
    described = client.get("/api/openapi.json").json()
    named = {operation["operationId"] for path in described["paths"].values() for operation in path.values()}
    assert named == set(api().operations)
    assert all("description" in operation for path in described["paths"].values() for operation in path.values())
    assert described["paths"]["/api/v1/projects"]["post"]["summary"] == (
        "Create a project with a copy of a shipped label set"
    )


def test_no_two_schemas_share_a_name():
    """In the description, one of them would stand for both."""
    assert api().operations

    def all_below(schema):
        return [schema, *(each for one in schema.__subclasses__() for each in all_below(one))]

    own = {one for one in all_below(Schema) if ".api" in one.__module__ and "[" not in one.__name__}
    assert [name for name, count in Counter(one.__name__ for one in own).items() if count > 1] == []


def test_the_page_needs_nothing_from_elsewhere(client):
    page = client.get("/api/docs").content.decode()
    assert "http" not in page and "/static/ninja/swagger-ui-bundle.js" in page
