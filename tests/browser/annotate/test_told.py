"""What the page tells of a note besides its text: where the reading began, what became of it, how the work goes."""

from types import SimpleNamespace
from typing import Any

from playwright.sync_api import Page, expect

from annotations.models import AnnotationSet, Project
from tests import factories as make
from tests.browser.annotate.steps import open_note, painted, press, quotes, saved


def go(page: Page, key: str, note: Any) -> None:
    press(page, key)
    expect(page.locator("#note-name")).to_have_text(note.name)


def test_a_reading_that_began_from_a_model(world: SimpleNamespace, page_of: Any, live: Any) -> None:
    first, second, _ = world.notes
    run = make.make_author(world.project, kind="run", name="rules-1")
    make.make_set(second, run, [(9, 20, "PATIENT")], submitted=True)
    Project.objects.filter(pk=world.project.pk).update(seed_from=run)
    page = open_note(page_of(world.ann), live, first)
    word = page.locator("#seeded")
    expect(word).to_be_hidden()
    go(page, "n", second)
    expect(word).to_have_text("Began from the spans of rules-1.")
    expect(word).to_be_visible()
    assert painted(page) == [("PATIENT", "Mario Rossi")]
    expect(page.locator("#told")).to_be_hidden()  # nobody changed it in another tab
    go(page, "p", first)
    expect(word).to_be_hidden()
    open_note(page, live, second)
    expect(word).to_be_visible()


def test_a_withdrawn_reading(opened: Page, world: SimpleNamespace, live: Any) -> None:
    """Nothing more is taken, and the page says why; also one that was open when it happened."""
    word, buttons = opened.locator("#withdrawn"), opened.locator("#submit, #reopen")
    press(opened, "ArrowRight", "1")
    saved(opened)
    expect(word).to_be_hidden()
    AnnotationSet.objects.update(state="withdrawn")
    press(opened, "ArrowRight", "2")
    expect(opened.locator("#told")).to_contain_text("This reading was withdrawn; ask a manager to bring you back.")
    for _ in range(2):
        expect(word).to_contain_text("withdrawn when its author left the project")
        expect(buttons.locator("visible=true")).to_have_count(0)
        assert painted(opened) == quotes(world.ann, world.note) == [("PATIENT", "Paziente")]
        open_note(opened, live, world.note)


def test_what_became_of_it(world: SimpleNamespace, page_of: Any, live: Any) -> None:
    first, second, _ = world.notes
    make.make_set(first, world.ann, [(9, 20, "PATIENT")], submitted=True, version=2)
    make.make_set(second, world.ann, submitted=True, version=1)
    page = open_note(page_of(world.ann), live, second)
    link = page.locator("#outcome")
    expect(page.locator("#reopen")).to_be_visible()
    expect(link).to_be_hidden()
    author = make.make_author(world.project, kind="adjudicated", name="adjudicated")
    make.make_set(first, author, [(9, 20, "DOCTOR")], submitted=True)
    page.reload()
    page.wait_for_selector("html[data-workbench=ready]")
    go(page, "p", first)
    expect(link).to_have_text("What became of it")
    expect(link).to_be_visible()
    go(page, "n", second)
    expect(link).to_be_hidden()
    open_note(page, live, first)
    link.click()
    expect(page.get_by_role("heading", name=f"What became of your spans in {first.name}")).to_be_visible()
    page.get_by_role("link", name="Your reading").click()
    expect(page.locator("#note-name")).to_have_text(first.name)


def test_how_the_work_goes(opened: Page, world: SimpleNamespace) -> None:
    pace = opened.locator("#pace")
    expect(pace).to_be_hidden()
    press(opened, "Enter")
    expect(opened.locator("#note-name")).to_have_text(world.notes[1].name)
    expect(pace).to_have_text("1 today")
    expect(pace).to_be_visible()
    opened.reload()
    opened.wait_for_selector("html[data-workbench=ready]")
    expect(pace).to_have_text("1 today")
