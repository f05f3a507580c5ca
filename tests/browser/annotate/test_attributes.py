"""Attributes on the annotate page: set by key, by mouse and by finger, shown, undone, and after a reload."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.models import DocumentSource, Label, Span, StoredFile, StoredFileKind
from tests.browser.annotate.steps import click_text, open_note, press, reload, saved


@pytest.fixture
def given(world):
    Label.objects.filter(name="PATIENT").update(
        attributes=[{"name": "Family"}, {"name": "Status", "values": ["current", "past"]}]
    )
    return world


def stored() -> list[Any]:
    return list(Span.objects.order_by("start").values_list("attributes", flat=True))


def label_the_name(page: Page) -> None:
    press(page, ",", "1")
    expect(page.locator("#selected .chip")).to_have_text("PATIENT")


def test_by_key(given, page_of, live):
    page = open_note(page_of(given.ann), live, given.note)
    label_the_name(page)
    press(page, "F4")
    window = page.get_by_role("dialog", name="Attributes")
    expect(window).to_be_visible()
    press(page, "1", "3")
    expect(window.get_by_role("button", pressed=True)).to_have_text(["1Family", "3past"])
    press(page, "2")
    expect(window.get_by_role("button", pressed=True)).to_have_text(["1Family", "2current"])
    press(page, "Escape")
    expect(window).to_be_hidden()
    piece = page.locator("#note .span.has-attributes")
    expect(piece).to_have_attribute("aria-label", "PATIENT, Family, Status: current")
    expect(page.locator("#selected .wb-attributes")).to_have_text("Family · Status: current")
    saved(page)
    assert stored() == [{"Family": True, "Status": "current"}]
    # The server draws the span as the script did.
    drawn = piece.evaluate("piece => piece.outerHTML.replace(/ is-selected| data-span=.\\S+/g, '')")
    reload(page)
    assert piece.evaluate("piece => piece.outerHTML.replace(/ is-selected| data-span=.\\S+/g, '')") == drawn
    click_text(page, "Mario")
    press(page, "c")
    expect(page.locator("#note .span")).to_have_attribute("aria-label", "CITY")
    press(page, "F4")
    expect(window).to_be_hidden()
    expect(page.locator("#selected .wb-hint")).to_contain_text("have no attributes")


def test_the_page_of_the_document_beside_the_text(world, page_of, live):
    original = StoredFile.objects.create(project=world.project, kind=StoredFileKind.ORIGINAL, name="a.pdf")
    places = [[0, world.note.length, "page 3"]]
    DocumentSource.objects.create(document=world.note, original=original, name="a.pdf", kind="pdf", places=places)
    page = page_of(world.ann)
    page.route("**/original/pages/*", lambda route: route.fulfill(status=404))
    open_note(page, live, world.note)
    press(page, "F8")
    expect(page.locator("#selected").get_by_text("No page to show. Select a span")).to_be_visible()
    expect(page.locator("#said")).to_contain_text("No page to show.")
    label_the_name(page)
    press(page, "F2", "Escape", "F8")
    expect(page.locator("#selected .wb-places")).to_contain_text("In the document: page 3")
    beside = page.get_by_role("complementary", name="page 3")
    expect(beside).to_contain_text("The page can't be shown.")
    press(page, "F8")
    expect(beside).to_be_hidden()
