"""Two notes with suggestions, two reviewers, and helpers for the review page. Used by all browser tests of review."""

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page

from annotations.models import Event, Role, Span
from annotations.review.events import REVIEW_DECIDED, REVIEW_UNDONE
from tests import factories as make
from tests.browser.annotate.steps import TEXT, saved

SUGGESTED = [("Mario Rossi", "PATIENT"), ("12/03/2021", "DATE"), ("Torino", "HOSPITAL"), ("Bianchi", "DOCTOR")]


def suggest(note: Any, run: Any, parts: list[tuple[str, str]] = SUGGESTED) -> None:
    spans = [(note.text.index(part), note.text.index(part) + len(part), label) for part, label in parts]
    annotation_set = make.make_set(note, run, spans, submitted=True)
    Span.objects.filter(annotation_set=annotation_set).update(confidence=0.8, source="rule.of.mine")


@pytest.fixture
def world(transactional_db):
    project = make.make_project("covid")
    rita, rosa = (make.make_member(project, Role.REVIEWER, name) for name in ("rita", "rosa"))
    run = make.make_author(project, kind="run", name="rules-1")
    notes = [make.make_note(project, TEXT, f"caso-00{number}", language="it") for number in (1, 2)]
    for note in notes:
        suggest(note, run)
    return SimpleNamespace(project=project, rita=rita, rosa=rosa, run=run, notes=notes, note=notes[0])


@pytest.fixture
def opened(world, page_of, live):
    return open_review(page_of(world.rita), live, world)


class Reviewing:
    """One page on which a reviewer opens note after note, each with the same suggestions and no decision."""

    def __init__(self, page: Page, live: Any, world: SimpleNamespace) -> None:
        self.page = page
        self._live = live
        self._world = world
        self._notes = iter(world.notes)
        self.go_on()

    def go_on(self) -> Any:
        self.note = next(self._notes)
        open_review(self.page, self._live, self._world, self.note)
        return self.note

    @property
    def gold(self) -> list[tuple[str, str]]:
        """The gold of the open note, once all is saved."""
        return self.after()

    def after(self, *keys: str) -> list[tuple[str, str]]:
        """The gold once these keys were pressed and all is saved."""
        saved(self.page, *keys)
        return gold(self.note)


@pytest.fixture
def many(world, page_of, live):
    for number in range(3, 13):
        note = make.make_note(world.project, TEXT, f"caso-{number:03}", language="it")
        suggest(note, world.run)
        world.notes.append(note)
    return Reviewing(page_of(world.rita), live, world)


def open_review(page: Page, live: Any, world: SimpleNamespace, note: Any = None) -> Page:
    page.goto(live("review", world.project.slug, world.run.pk, (note or world.note).pk))
    page.wait_for_selector("html[data-review=ready]")
    return page


def gold(note: Any) -> list[tuple[str, str]]:
    """(label, text) of the note's gold, from the database."""
    rows = Span.objects.filter(annotation_set__document=note, annotation_set__author__kind="gold")
    found = rows.order_by("start", "end").values_list("start", "end", "label__name")
    return [(label, note.text[start:end]) for start, end, label in found]


def chosen(page: Page) -> Any:
    return page.locator("#suggestions [aria-current=true]")


def act(page: Page, name: str) -> Any:
    """A button of the selected suggestion."""
    return page.locator(f"#chosen [data-act={name}]")


def listed(page: Page) -> list[str]:
    return page.locator("#suggestions .de-quote").all_inner_texts()


def states(page: Page) -> list[str]:
    return page.locator("#suggestions .de-state").all_inner_texts()


def decided(note: Any) -> int:
    return Event.objects.filter(verb__in=[REVIEW_DECIDED, REVIEW_UNDONE], document_id=note.pk).count()
