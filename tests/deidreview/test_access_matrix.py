"""Who may do what, for every URL: one table, tested with one client per persona.

A URL that is not in the table fails the test, and so does a row without a URL.
"""

from collections.abc import Callable
from functools import partial

import pytest
from django.db import transaction

from annotations.models import Membership
from models_runtime.core import external
from tests.deidreview.access_table import EVERYONE_405, PERSONAS, TABLE
from tests.deidreview.access_world import KINDS, ROUTES, SMALL, TALK, World, as_persona, ask, build_world, visit
from tests.factories import make_note

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def models_of_others(monkeypatch):
    for backend, model in SMALL.items():
        monkeypatch.setitem(external.FOUND, backend, lambda model=model: [model])


@pytest.fixture
def world() -> World:
    return build_world()


class Undo(Exception):
    pass


def undone(act: Callable[[], int]) -> int:
    """Return the result of `act`, and undo everything that it wrote."""
    try:
        with transaction.atomic():
            status = act()
            raise Undo
    except Undo:
        return status


def test_the_table_and_the_urls_are_the_same():
    assert {
        "missing in the table": sorted(set(ROUTES) - set(TABLE)),
        "no such URL": sorted(set(TABLE) - set(ROUTES)),
    } == {
        "missing in the table": [],
        "no such URL": [],
    }


@pytest.mark.parametrize("name", TABLE)
def test_access(world, name):
    expected = {method: dict(zip(PERSONAS, map(int, row.split()), strict=True)) for method, row in TABLE[name].items()}
    found = {
        method: {persona: undone(partial(visit, world, persona, method, name)) for persona in PERSONAS}
        for method in TABLE[name]
    }
    assert found == expected


def refused(world: World, names: set[str], persona: str, **where: str) -> dict[str, dict[str, int]]:
    """Return by route and method every status that is neither 404 nor 405."""
    client = as_persona(world, persona)
    return {
        f"{method} {name}": status
        for name in sorted(names & set(ROUTES))
        for method, row in TABLE[name].items()
        if (status := undone(partial(ask, client, method, name, world, **where)))
        != (405 if row == EVERYONE_405 else 404)
    }


def test_objects_of_another_project_are_not_reachable_through_ones_own(world):
    """A manager combines another project's ids with their own project's name."""
    assert refused(world, set().union(*KINDS.values()), "manager", slug="ours", objects="theirs") == {}


def test_an_annotator_reaches_only_the_notes_that_are_theirs(world):
    other = make_note(world.ours, "Another note.")
    world.objects["ours"] |= {"note": other.pk, "open_note": other.pk}
    theirs_to_read = {"annotate", "note_data", "changes", "spans", "start_annotations", "submit", "reopen"} | TALK
    assert refused(world, theirs_to_read, "annotator") == {}


def test_a_member_who_was_removed_is_a_stranger(world):
    Membership.objects.filter(project=world.ours).update(active=False)
    inside = {name for name, pattern in ROUTES.items() if "<slug:slug>" in pattern}
    assert len(inside) > 30
    assert refused(world, inside, "manager") == {}
