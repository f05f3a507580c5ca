"""Who may do what, for every URL: one table, tested with one client per persona.

A URL that is not in the table fails the test, and so does a row without a URL. PostgreSQL answers the same queries, so
there only a manager and an administrator ask for what they get: an error of a query is found by who may send it.
"""

from functools import partial

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from annotations.models import Membership, Project
from tests.deidreview.access_table import EVERYONE_405, OPEN_405, PERSONAS, TABLE, asking, status_in
from tests.deidreview.access_world import ROUTES, World, as_persona, ask, build_world, kind_of, undone
from tests.factories import make_note
from tests.held import made_once

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fast_requests", "small_models", "uncounted_links")]
ON_POSTGRESQL = {"manager", "administrator"}
REFUSED = {"403", "404", "405"}


made, world = made_once(build_world)


def test_the_table_and_the_urls_are_the_same():
    assert {
        "missing in the table": sorted(set(ROUTES) - set(TABLE)),
        "no such URL": sorted(set(TABLE) - set(ROUTES)),
    } == {"missing in the table": [], "no such URL": []}


def status_of(client: Client, method: str, name: str, world: World, **where: str) -> int:
    """Return the status of a response, and undo the request."""
    return undone(partial(ask, client, method, name, world, **where), client)


@pytest.mark.both_databases
def test_access(world, nightly):
    """Every URL with each method as the personas of its row. Only differences from the table are shown."""
    everything = connection.vendor == "sqlite"
    clients = {persona: as_persona(world, persona) for persona in (PERSONAS if everything else ON_POSTGRESQL)}
    wrong = {}
    for turn, (name, methods) in enumerate(TABLE.items()):
        for method, row in methods.items():
            for persona, expected in asking(row, nightly, turn).items():
                if persona not in clients or not (everything or nightly or expected not in REFUSED):
                    continue
                if str(found := status_of(clients[persona], method, name, world)) != expected:
                    wrong[f"{method} {name} as {persona}"] = f"found {found}, in the table {expected}"
    assert wrong == {}


def refused(world: World, names: set[str], persona: str, **where: str) -> dict[str, dict[str, int]]:
    """Return by route and method every status other than 404. A method that nobody may use is refused before."""
    client = as_persona(world, persona)
    return {
        f"{method} {name}": status
        for name in sorted(names & set(ROUTES))
        for method, row in TABLE[name].items()
        if row not in (EVERYONE_405, OPEN_405) and (status := status_of(client, method, name, world, **where)) != 404
    }


def test_objects_of_another_project_are_not_reachable_through_ones_own(world):
    """A manager combines another project's ids with their own project's name."""
    assert refused(world, {name for name in ROUTES if kind_of(name)}, "manager", slug="ours", objects="theirs") == {}


def test_an_annotator_reaches_only_the_notes_that_are_theirs(world):
    other = make_note(world.ours, "Another note.")
    world.objects["ours"] |= {"note": other.pk, "open_note": other.pk}
    theirs_to_read = {"annotate", "note_data", "changes", "spans", "start_annotations", "submit", "reopen"}
    theirs_to_read |= {"candidates", "talk", "comments", "flag"}
    assert refused(world, theirs_to_read, "annotator") == {}


def test_a_member_who_was_removed_is_a_stranger(world):
    Membership.objects.filter(project=world.ours).update(active=False)
    inside = {name for name, pattern in ROUTES.items() if "<slug:slug>" in pattern}
    assert len(inside) > 30
    assert refused(world, inside, "manager") == {}


# What stays possible in an archived project: searching, jobs that only read, restoring, and the page that deletes.
WHEN_ARCHIVED = {
    "notes", "search", "job_start_export", "job_start_score", "compare_start", "agreement_start", "project_archive",
    "archive_start", "project_restore", "project_delete", "statistics_start", "export_preview", "notes_export",
    "places",
}  # fmt: skip


def test_nobody_changes_an_archived_project(world, nightly):
    Project.objects.filter(pk=world.ours.pk).update(archived_at=timezone.now())
    inside = {name for name, pattern in ROUTES.items() if "<slug:slug>" in pattern} - WHEN_ARCHIVED
    assert len(inside) > 60
    done = {}
    for persona in PERSONAS[2:6] if nightly else ["manager"]:
        client = as_persona(world, persona)
        for name in sorted(inside):
            if status_in(TABLE[name]["POST"], persona) not in REFUSED:
                status = status_of(client, "POST", name, world)
                if status not in (403, 404):
                    done[f"{persona} {name}"] = status
    assert done == {}


def test_reading_an_archived_project_is_no_error(world, nightly):
    """Pages that the person could open answer as before, or with 403 where they are for changes."""
    Project.objects.filter(pk=world.ours.pk).update(archived_at=timezone.now())
    inside = {name for name, pattern in ROUTES.items() if "<slug:slug>" in pattern}
    wrong = {}
    for persona in PERSONAS[2:6] if nightly else ["manager"]:
        client = as_persona(world, persona)
        for name in sorted(inside - {"project_delete"}):
            if (before := status_in(TABLE[name]["GET"], persona)) not in REFUSED:
                found = str(status_of(client, "GET", name, world))
                if found not in (before, "403"):
                    wrong[f"{persona} {name}"] = (before, found)
    assert wrong == {}
