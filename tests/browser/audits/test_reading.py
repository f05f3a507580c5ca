"""Reading a released note in Chromium: by mouse, and by keyboard alone on a phone."""

import re
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.models import AuditMark, AuditNote, Release
from tests import factories as make
from tests.browser.widths import PHONE, fits
from tests.worlds.audited import audited_world, planned, read_one


@pytest.fixture
def ward(transactional_db: None) -> SimpleNamespace:
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


@pytest.mark.nightly
def test_a_note_by_mouse(ward: SimpleNamespace, page_of: Any, live: Any, axe: Any) -> None:
    page = opened(page_of(ward.rev), live)
    expect(page.get_by_role("button", name="No leak")).to_be_visible()
    expect(page.get_by_role("button", name="DOCTOR")).to_be_disabled()
    box = page.evaluate(
        """() => {
            const node = document.querySelector("#note .line-text").lastChild;
            const range = document.createRange();
            range.setStart(node, node.data.indexOf("Bianchi"));
            range.setEnd(node, node.data.indexOf("Bianchi") + 7);
            const { x, y, width, height } = range.getBoundingClientRect();
            return { x, y: y + height / 2, past: x + width };
        }"""
    )
    page.mouse.move(box["x"] + 8, box["y"])
    page.mouse.down()
    page.mouse.move(box["past"] - 8, box["y"], steps=4)
    page.mouse.up()
    expect(page.locator("#chosen")).to_have_text("Bianchi")  # widened to the word
    assert axe(page) == []
    page.get_by_role("button", name="DOCTOR").click()
    page.wait_for_selector("html[data-audit=ready]")
    expect(page.get_by_role("list").filter(has_text="Bianchi")).to_be_visible()
    assert marks() == [("DOCTOR", "Bianchi")]
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("No leak marked in this note.")).to_be_visible()
    page.get_by_role("button", name="No leak").click()
    expect(page.get_by_text("You have read 1 note.")).to_be_visible()
    assert marks() == []
    # A reload goes on with the same note.
    page.reload()
    assert AuditNote.objects.get(state="reading").position == 2


def test_a_note_by_keyboard(ward: SimpleNamespace, page_of: Any, live: Any) -> None:
    page = opened(page_of(ward.rev, **PHONE), live)
    assert fits(page)
    keyboard = page.keyboard
    keyboard.press("ArrowRight")
    expect(page.locator("#chosen")).to_have_text("[")
    keyboard.press("ArrowDown")  # the next sentence: behind the point of “dott.”
    expect(page.locator("#chosen")).to_have_text("Bianchi")
    keyboard.press("Shift+ArrowLeft")
    keyboard.press("Shift+ArrowLeft")
    expect(page.locator("#chosen")).to_have_text("dott. Bianchi")
    keyboard.press("Escape")
    expect(page.get_by_role("button", name="DOCTOR")).to_be_disabled()
    keyboard.press("ArrowLeft")
    keyboard.press("ArrowDown")
    expect(page.locator("#chosen")).to_have_text("Bianchi")
    keyboard.press("2")  # the key of DOCTOR
    expect(page.get_by_role("list").filter(has_text="Bianchi")).to_be_visible()
    page.wait_for_selector("html[data-audit=ready]")
    assert marks() == [("DOCTOR", "Bianchi")]
    keyboard.press("u")
    expect(page.get_by_text("No leak marked in this note.")).to_be_visible()
    page.wait_for_selector("html[data-audit=ready]")
    keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("Mark the selected text with the label")
    keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()
    # Chromium moves the focus back to the page a moment after it has closed the dialog.
    expect(page.locator("dialog :focus")).to_have_count(0)
    keyboard.press("Enter")
    expect(page.get_by_text("You have read 1 note.")).to_be_visible()
    page.wait_for_selector("html[data-audit=ready]")
    keyboard.press("p")  # a key that no label can have
    expect(page.get_by_text("You have read")).to_have_count(0)
    assert AuditNote.objects.get(state="reading").position == 1


def test_leaks_are_decided_by_keys(ward: SimpleNamespace, page_of: Any, axe: Any) -> None:
    read_one(ward.plan, ward.rev, "visto", "Bianchi")
    page = page_of(ward.mia, "audit_leaks", "covid", 1)
    page.wait_for_selector("html[data-leaks=ready]")
    sent: list[str] = []
    page.on("request", lambda request: request.method == "POST" and sent.append(request.url))
    seen, doctor = page.locator(".entry").first, page.locator(".entry").last
    page.keyboard.press("j")
    expect(seen).to_be_focused()
    page.keyboard.press("x")
    expect(doctor).to_be_focused()  # it goes on by itself
    page.keyboard.press("r")
    expect(page.locator("#onward")).to_be_focused()
    expect(doctor).to_contain_text("Replaced by mina")
    expect(seen).to_contain_text("Not an identifier, according to mina")
    assert axe(page) == []
    page.locator("#toast-undo").click()
    expect(doctor).to_contain_text("Undecided")
    doctor.get_by_role("button", name="Accept leak").click()
    expect(doctor).to_contain_text("Accepted by mina")
    expect(page.locator("#save-state")).to_have_attribute("data-save", "saved")
    assert len(sent) == 4
    assert AuditMark.objects.filter(dismissed_at=None).get().finding.decision == "allow"
    # Somebody else signs or withdraws: the answer is refused with its reason, and the page shows what was there.
    Release.objects.update(state="withdrawn")
    seen.get_by_role("button", name="Undo").click()
    expect(page.locator("#notice")).to_contain_text("Withdrawn")
    expect(seen).to_contain_text("Not an identifier, according to mina")
    expect(seen).not_to_have_class(re.compile("is-sent"))
