"""Who may do what through the API, for every route: one table, tested with one program per persona.

A route that is not in the table fails the test, and so does a row without a route. On PostgreSQL only a manager and an
administrator ask, as in test_access_matrix: what is refused is refused by the same queries.
"""

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.http import HttpResponse

from annotations.core.api.mount import api
from annotations.models import Membership, Span
from tests.deidreview.access_table import PERSONAS, asking
from tests.deidreview.access_world import World, build_world, undone
from tests.deidreview.api_table import TABLE
from tests.deidreview.test_access_matrix import ON_POSTGRESQL
from tests.held import made_once
from tests.worlds.programs import Program

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fast_requests")]


def build_world_with_spans() -> World:
    world = build_world()
    for objects in world.objects.values():
        objects["span"] = Span.objects.filter(annotation_set=objects["annotation_set"]).get().pk
    return world


made, world = made_once(build_world_with_spans)


def test_the_table_and_the_routes_are_the_same():
    routes = set(api().operations)
    assert {"missing in the table": sorted(routes - set(TABLE)), "no such route": sorted(set(TABLE) - routes)} == {
        "missing in the table": [],
        "no such route": [],
    }


def path_of(name: str, world: World, slug: str = "ours", objects: str = "ours") -> str:
    """Return the path of a route in project `slug`, with the objects of project `objects`."""
    kinds, ids = TABLE[name].objects, world.objects[objects] | {"slug": slug}
    path = api().operations[name].path
    return re.sub(r"{(?:\w+:)?(\w+)}", lambda found: str(ids[kinds.get(found[1], found[1])]), path) + TABLE[name].query


def answer_of(program: Program | None, name: str, world: World, **where: str) -> HttpResponse:
    row, method = TABLE[name], api().operations[name].methods[0]
    asked = program or Program(None)
    if row.files:
        files = [SimpleUploadedFile(name, content) for name, content in row.files.items()]
        return asked.upload(path_of(name, world, **where), {row.upload: files})
    headers = {header.lower().replace("-", "_"): value for header, value in row.headers.items()}
    return asked.send(method, path_of(name, world, **where), row.body, **headers)


def status_of(program: Program | None, name: str, world: World, **where: str) -> int:
    return undone(lambda: answer_of(program, name, world, **where).status_code)


def inside() -> list[str]:
    """The routes inside a project."""
    return [name for name, operation in api().operations.items() if "{slug:slug}" in operation.path]


def changing(names: list[str]) -> list[str]:
    return [name for name in names if api().operations[name].methods != ["GET"]]


def test_access(world, nightly):
    """Every route as the personas of its row. Only differences from the table are shown."""
    askers = PERSONAS if connection.vendor == "sqlite" else ON_POSTGRESQL
    programs = {persona: None if persona == "anonymous" else Program(world.people[persona]) for persona in askers}
    wrong = {}
    for turn, (name, row) in enumerate(TABLE.items()):
        for persona, expected in asking(row.statuses, nightly, turn).items():
            if persona in programs and str(found := status_of(programs[persona], name, world)) != expected:
                wrong[f"{name} as {persona}"] = f"found {found}, in the table {expected}"
    assert wrong == {}


def wrong_statuses(program: Program, names: list[str], world: World, allowed: set[int], **where: str) -> dict[str, int]:
    found = {name: status_of(program, name, world, **where) for name in names}
    return {name: status for name, status in found.items() if status not in allowed}


def test_objects_of_another_project_are_not_reachable_through_ones_own(world):
    """A manager combines another project's ids with their own project's name."""
    named = [name for name in inside() if api().operations[name].path.count("{") > 1]
    assert wrong_statuses(Program(world.people["manager"]), named, world, {404}, objects="theirs") == {}


def test_a_token_of_one_project_reaches_no_other(world):
    Membership.objects.create(project=world.theirs, user=world.people["manager"], role="manager")
    program = Program(world.people["manager"], project=world.theirs)
    assert wrong_statuses(program, inside(), world, {404}) == {}


def test_a_scope_allows_no_more_than_it_says(world):
    reading = Program(world.people["manager"], scope="read")
    assert wrong_statuses(reading, changing(list(TABLE)), world, {403}) == {}
    writing = Program(world.people["manager"], scope="write")
    managing = [name for name in changing(inside()) if TABLE[name].statuses.split()[4] == "403"]
    assert managing
    assert wrong_statuses(writing, managing, world, {403}) == {}


def test_a_member_who_was_removed_is_a_stranger(world):
    Membership.objects.filter(project=world.ours).update(active=False)
    assert wrong_statuses(Program(world.people["manager"]), inside(), world, {404}) == {}
