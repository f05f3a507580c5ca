"""The search over all places in Chromium: by keys alone, on a page with keys of its own."""

from typing import Any

from playwright.sync_api import expect

from annotations.models import Span
from tests import factories as make

TEXT = "Mario Rossi, 54 anni."


def test_ctrl_k_leads_to_a_note_and_leaves_the_keys_of_the_page_alone(
    transactional_db: None, page_of: Any, axe: Any
) -> None:
    project = make.make_project("ward", name="Ward")
    ann = make.make_member(project, "annotator", "ann")
    first, second = (make.make_note(project, TEXT, name, annotators=[ann]) for name in ("caso-1", "caso-2"))
    page = page_of(ann, "annotate", "ward", first.pk)
    dialog, field = page.get_by_role("dialog", name="Go to"), page.get_by_role("combobox")
    page.get_by_role("button", name="Go to").focus()
    page.keyboard.press("Control+k")
    expect(field).to_be_focused()
    expect(page.get_by_role("option").first).to_have_attribute("aria-selected", "true")
    # Letters are the field's, not label keys or acts of the page.
    page.keyboard.type("nothing like this")
    expect(dialog.locator(".places-none")).to_be_visible()
    field.fill("caso-2")
    expect(page.get_by_role("option", name="caso-2")).to_have_attribute("aria-selected", "true")
    assert axe(page) == [] and page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("button", name="Go to")).to_be_focused()
    page.keyboard.press("Meta+k")
    # A quick hand: what is listed still answers the empty field.
    page.keyboard.type("caso-2")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/notes/{second.pk}/**")
    assert not Span.objects.exists()
