"""A project with three short notes and two annotators."""

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page

from tests import factories as make
from tests.browser.annotate.steps import TEXT, open_note


@pytest.fixture
def world(transactional_db: None) -> SimpleNamespace:
    project = make.make_project("covid")
    ann, ben = make.make_member(project, user="ann"), make.make_member(project, user="ben")
    notes = [
        make.make_note(project, TEXT, f"caso-00{number}", annotators=[ann, ben], language="it") for number in (1, 2, 3)
    ]
    return SimpleNamespace(project=project, ann=ann, ben=ben, notes=notes, note=notes[0])


@pytest.fixture
def opened(world: SimpleNamespace, page_of: Any, live: Any) -> Page:
    return open_note(page_of(world.ann), live, world.note)
