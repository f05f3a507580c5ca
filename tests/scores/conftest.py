"""A run that was scored, shared by the tests of pages and of causes."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotations.scores.rules.causes import ErrorId
from tests import factories as make
from tests.held import made_once
from tests.worlds.pages import make_world

ROSSI, AGE, CITY, BIANCHI = (0, 11, "PATIENT"), (13, 15, "AGE"), (44, 50, "CITY"), (61, 68, "DOCTOR")


def make_read():
    """Gold on both notes. In one, the run misses the city, has a wrong age, and takes the doctor for a patient."""
    world = make_world()
    world.run = make.make_author(world.project, kind="run", name="rules-1")
    for note in world.notes:
        make.make_set(note, "gold", [ROSSI, AGE, CITY, BIANCHI])
    world.run_set = make.make_set(world.note, world.run, [ROSSI, (13, 20, "AGE"), (61, 68, "PATIENT")], submitted=True)
    world.missed = ErrorId(world.note.pk, CITY, None)
    world.label = ErrorId(world.note.pk, BIANCHI, (61, 68, "PATIENT"))
    return world


made_read, read = made_once(make_read, name="made_read")


@pytest.fixture
def client(read, sign_in):
    return sign_in(read.rev)


def url(name, world, version=0, author=None, **query):
    where = reverse(name, args=[world.project.slug, version, (author or world.run).pk])
    return where + ("?" + "&".join(f"{key}={value}" for key, value in query.items()) if query else "")


def page_that_reads_no_notes(client, address):
    """Open a page, and check that it counts the notes with gold in the database, without reading their ids."""
    with CaptureQueriesContext(connection) as made:
        response = client.get(address)
    of_notes = [each["sql"] for each in made if '_goldversionnote"' in each["sql"]]
    assert of_notes and all("COUNT(" in sql or "SUM(" in sql for sql in of_notes)
    return response
