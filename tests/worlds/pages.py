"""A project with one member of each role, and signed-in clients, for tests of pages."""

from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotations.models import User
from tests import factories as make
from tests.held import made_once

TEXT = "Mario Rossi, 54 anni, visto il 12/03/2021 a Torino dal dott. Bianchi."


def make_world() -> SimpleNamespace:
    """A project with two notes for ann and ben, and one member of each role; `out` manages another project."""
    project = make.make_project("covid", name="Covid ward")
    ann, ben = (make.make_member(project, user=name) for name in ("ann", "ben"))
    notes = [make.make_note(project, TEXT, f"caso-{n:03}", annotators=[ann, ben], language="it") for n in (1, 2)]
    other = make.make_project("other", name="Other ward")
    roles = {"rev": "reviewer", "vic": "viewer", "mia": "manager"}
    people = {name: make.make_member(project, role, name) for name, role in roles.items()}
    people["out"] = make.make_member(other, "manager", "out")
    return SimpleNamespace(project=project, notes=notes, note=notes[0], ann=ann, ben=ben, other=other, **people)


def url(name: str, *args: object) -> str:
    """The URL of a page of the world's project."""
    return reverse(name, args=["covid", *args])


def signed_in(user: User, **options: object) -> Client:
    client = Client(**options)
    client.force_login(user)
    return client


made_world, world = made_once(make_world, name="made_world")


@pytest.fixture
def sign_in() -> "type":
    return signed_in


def browser_of(name: str) -> Any:
    """Return a fixture: the browser of this person of the world."""

    @pytest.fixture(name=name)
    def browser(world: SimpleNamespace, sign_in: "type") -> Client:
        return sign_in(getattr(world, name))

    return browser


ann, mia, rev, vic = map(browser_of, ("ann", "mia", "rev", "vic"))
