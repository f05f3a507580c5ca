"""Requests to the overview, and its parts, for the tests of each role."""

import re
from html import unescape
from types import SimpleNamespace
from typing import Any

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotations.models import AnnotationSet, Author
from tests import factories as make
from tests.worlds.checks import check_page

SPAN = [(0, 11, "PATIENT")]


def show(client: Client, slug: str = "covid") -> str:
    return check_page(client.get(reverse("project", args=[slug])))


def url(name: str, *args: Any) -> str:
    return reverse(name, args=["covid", *args])


def plain(html: str) -> str:
    """The text without markup, with single spaces."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def section(html: str, heading: str) -> str:
    """The part of the page with this heading; empty without it."""
    parts = re.findall(r"<(section|details)\b(.*?)</\1>", html, re.DOTALL)
    found = (body for _tag, body in parts if re.search(rf"<h2[^>]*>(?:<a[^>]*>)?{re.escape(heading)}<", body))
    return next(found, "")


def rows(html: str, heading: str) -> dict[str, str]:
    """The items of a list under a heading: text, and the address of its link."""
    items = re.findall(r"<li[^>]*>(.*?)</li>", section(html, heading), re.DOTALL)
    links = {
        plain(re.sub(r'<a class="btn.*', "", item, flags=re.DOTALL)): re.findall(r'href="([^"]*)"', item)
        for item in items
    }
    return {text: unescape(found[-1]) if found else "" for text, found in links.items()}


def stages(html: str) -> dict[str, str]:
    """The stages with their values as text, and the address of each; empty without one."""
    strip = re.search(r'<ol class="pipeline">(.*?)</ol>', html, re.DOTALL)
    items = re.findall(r"<li>(.*?)</li>", strip[1], re.DOTALL) if strip else []
    links = [(plain(item), re.search(r'href="([^"]*)"', item)) for item in items]
    return {text: unescape(found[1]) if found else "" for text, found in links}


def submit(world: SimpleNamespace, *people: Any) -> None:
    """Let these people submit all notes of the world."""
    for note in world.notes:
        for person in people:
            make.make_set(note, person, SPAN, submitted=True, submitted_at="2026-01-01T00:00Z")


def adjudicate(world: SimpleNamespace, note: Any) -> AnnotationSet:
    author = make.make_author(world.project, kind=Author.Kind.ADJUDICATED, name="adjudicated")
    return make.make_set(note, author, SPAN, submitted=True)


def grow(world: SimpleNamespace) -> None:
    """Add people, notes with annotations by all of them and comments, and runs."""
    more = [make.make_member(world.project, user=f"more{n}") for n in range(4)]
    for n in range(6):
        note = make.make_note(world.project, name=f"more-{n}", annotators=[*more, world.ann])
        for person in [*more, world.ann]:
            make.make_set(note, person, SPAN, submitted=True)
        adjudicate(world, note)
        gold = make.make_author(world.project, kind=Author.Kind.GOLD, name="gold")
        make.make_set(note, gold, SPAN, submitted=True)
    for n in range(3):
        run = make.make_author(world.project, kind=Author.Kind.RUN, name=f"run-{n}")
        make.make_set(world.note, run, SPAN, submitted=True)


def queries(client: Client) -> int:
    """The number of queries of the page, after a first request, which may save the session."""
    show(client)
    with CaptureQueriesContext(connection) as captured:
        show(client)
    return len(captured)
