"""Reading a released note in Chromium: by keyboard alone on a phone."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.models import AuditMark, AuditNote
from tests import factories as make
from tests.browser.annotate.steps import press
from tests.browser.widths import PHONE, fits
from tests.worlds.audited import audited_world, planned


@pytest.fixture
def ward(transactional_db):
    world = audited_world(make.make_project("covid", name="Covid ward", language="it"))
    world.plan = planned(world.release)
    return world


def opened(page: Page, live: Any) -> Page:
    page.goto(live("release_audit", "covid", 1))
    page.get_by_role("button", name="Read next note").click()
    page.wait_for_selector("html[data-audit=ready]")
    return page


def marks() -> list[tuple[str, str]]:
    return [
        (mark.label, mark.note.note.document.text[mark.start : mark.end])
        for mark in AuditMark.objects.select_related("note__note__document")
    ]


def test_a_note_by_keyboard(ward, page_of, live):
    page = opened(page_of(ward.rev, **PHONE), live)
    assert fits(page)
    press(page, "ArrowRight")
    expect(page.locator("#chosen")).to_have_text("[")
    press(page, "ArrowDown")  # the next sentence: behind the point of “dott.”
    expect(page.locator("#chosen")).to_have_text("Bianchi")
    press(page, "Shift+ArrowLeft", "Shift+ArrowLeft")
    expect(page.locator("#chosen")).to_have_text("dott. Bianchi")
    press(page, "Escape")
    expect(page.get_by_role("button", name="DOCTOR")).to_be_disabled()
    press(page, "ArrowLeft", "ArrowDown")
    expect(page.locator("#chosen")).to_have_text("Bianchi")
    press(page, "2")  # the key of DOCTOR
    expect(page.get_by_role("list").filter(has_text="Bianchi")).to_be_visible()
    page.wait_for_selector("html[data-audit=ready]")
    assert marks() == [("DOCTOR", "Bianchi")]
    press(page, "u")
    expect(page.get_by_text("No leak marked in this note.")).to_be_visible()
    page.wait_for_selector("html[data-audit=ready]")
    press(page, "?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("Mark the selected text with the label")
    press(page, "Escape")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()
    # Chromium moves the focus back to the page a moment after it has closed the dialog.
    expect(page.locator("dialog :focus")).to_have_count(0)
    press(page, "Enter")
    expect(page.get_by_text("You have read 1 note.")).to_be_visible()
    page.wait_for_selector("html[data-audit=ready]")
    press(page, "p")  # a key that no label can have
    expect(page.get_by_text("You have read")).to_have_count(0)
    assert AuditNote.objects.get(state="reading").position == 1
