"""A project with three short notes and two annotators, and walks over many notes on one page."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests import factories as make
from tests.browser.annotate.steps import TEXT, open_note, press, quotes, saved


@pytest.fixture
def world(transactional_db):
    project = make.make_project("covid")
    ann, ben = make.make_member(project, user="ann"), make.make_member(project, user="ben")
    notes = [
        make.make_note(project, TEXT, f"caso-00{number}", annotators=[ann, ben], language="it") for number in (1, 2, 3)
    ]
    return SimpleNamespace(project=project, ann=ann, ben=ben, notes=notes, note=notes[0])


@pytest.fixture
def opened(world, page_of, live):
    return open_note(page_of(world.ann), live, world.note)


class Walk:
    """One page on which note after note is opened in place: to load a page costs more than most acts on it."""

    def __init__(self, page: Page, ann: Any, notes: Sequence[Any]) -> None:
        self.page = page
        self.ann = ann
        self._notes = iter(notes)
        self.note = next(self._notes)

    def go_on(self) -> Any:
        """Let go of all that is selected, and open the next note, which has no annotations yet."""
        press(self.page, "Escape", "Escape")
        self.page.locator("#next-note").click()
        self.handed_in()
        return self.note

    def handed_in(self) -> Any:
        """Wait until the next note is open. Return the one before."""
        before, self.note = self.note, next(self._notes)
        expect(self.page.locator("#note-name")).to_have_text(self.note.name)
        expect(self.page.locator("#note")).to_be_focused()
        return before

    @property
    def made(self) -> list[tuple[str, str]]:
        """(label, text) of the saved spans of the open note."""
        return self.after()

    def after(self, *keys: str) -> list[tuple[str, str]]:
        """What is saved once these keys were pressed."""
        saved(self.page, *keys)
        return quotes(self.ann, self.note)


@pytest.fixture
def walk_over(transactional_db, page_of, live):
    """Begin a walk over notes with these texts."""

    def begin(*texts: str, labels: Any = make.LABELS, **options: Any) -> Walk:
        project = make.make_project("walk", labels)
        ann = make.make_member(project, user="ann")
        notes = [make.make_note(project, text, f"n{at:02}", annotators=[ann]) for at, text in enumerate(texts)]
        return Walk(open_note(page_of(ann, **options), live, notes[0]), ann, notes)

    return begin
