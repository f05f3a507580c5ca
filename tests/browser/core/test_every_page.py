"""What many pages have in Chromium: contents lists, the search over all places, sorting, times in one's own zone."""

from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

import pytest
from playwright.sync_api import Locator, Page, expect

from annotations.core.services import NOTE_READ
from annotations.models import Amendment, Comment, Span
from tests import factories as make

pytestmark = pytest.mark.django_db(transaction=True)


# ── The contents list of a long page: beside the text or folded, by mouse and by keyboard ──


@pytest.mark.nightly
def test_beside_the_text_or_folded_on_a_phone(page_of, live):
    page = page_of(make.make_member(make.make_project("ward", name="Ward"), "manager"))
    page.set_viewport_size({"width": 1440, "height": 500})
    page.goto(live("project_settings", "ward"))
    contents = page.get_by_role("navigation", name="Contents")
    expect(contents.get_by_role("link").first).to_be_visible()
    assert contents.bounding_box()["x"] > page.locator("main section").last.bounding_box()["x"]
    headings = page.locator("main h2[id]").count()
    assert contents.get_by_role("link").count() == headings
    link = contents.get_by_role("link").nth(1)
    link.focus()
    page.keyboard.press("Enter")
    expect(link).to_have_attribute("aria-current", "location")
    expect(contents.locator("[aria-current]")).to_have_count(1)
    # The list stays in view.
    expect(link).to_be_in_viewport()
    page.keyboard.press("End")
    expect(contents.get_by_role("link").last).to_have_attribute("aria-current", "location")
    page.emulate_media(media="print")
    expect(contents).to_be_hidden()
    # Folded on a phone.
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(live("project_settings", "ward"))
    expect(contents.get_by_role("link").first).to_be_hidden()
    contents.locator("summary").press("Enter")
    expect(contents.get_by_role("link").first).to_be_visible()
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    last = contents.get_by_role("link").last
    target = page.locator(last.get_attribute("href"))
    last.click()
    expect(last).to_be_hidden()
    expect(target).to_be_in_viewport()


# ── The search over all places in Chromium: by keys alone, on a page with keys of its own ──


TEXT = "Mario Rossi, 54 anni."


def test_ctrl_k_leads_to_a_note_and_leaves_the_keys_of_the_page_alone(page_of: Any, axe: Any) -> None:
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


# ── Tables that are complete on one page are sorted by their columns, by mouse and by keyboard ──


def column(table: Locator, number: int) -> list[str]:
    return [text.split("\n")[0].strip() for text in table.locator(f"tbody tr > :nth-child({number})").all_inner_texts()]


def test_times_figures_and_words_are_sorted(page_of: Any) -> None:
    """The newest first. As words, 1 Dec 2025 would come before 3 Oct 2026, and 25 Nov 2026 after both; so would 2."""
    project = make.make_project("ward", name="Ward")
    mia, people = make.make_member(project, "manager", "mia"), []
    for name, day in (("ada", (2026, 10, 3)), ("ben", (2026, 11, 25)), ("cleo", (2025, 12, 1))):
        people.append(person := make.make_member(project, user=name))
        with patch("django.utils.timezone.now", return_value=datetime(*day, 9, tzinfo=UTC)):
            NOTE_READ.record(actor=person, project_id=project.pk, data={"what": "note"})
    make.make_member(project, user="dan")
    for number in range(10):
        make.make_note(project, annotators=people[number > 1 : 2])
    page = page_of(mia, "project", "ward")
    page.locator("summary", has_text="Figures, people and languages").click()
    table = page.get_by_role("table", name="Members with their last activity")
    head = table.get_by_role("columnheader", name="Last activity")
    button, before = head.get_by_role("button"), column(table, 1)
    button.click()
    expect(head).to_have_attribute("aria-sort", "descending")
    assert [name for name in column(table, 1) if name not in ("mia", "dan")] == ["ben", "ada", "cleo"]
    assert "dan" not in column(table, 1)[:3], "who did nothing comes last"
    page.keyboard.press("Enter")
    assert [name for name in column(table, 1) if name not in ("mia", "dan")] == ["cleo", "ada", "ben"]
    page.keyboard.press("Enter")
    assert column(table, 1) == before
    table.get_by_role("columnheader", name="To do").get_by_role("button").press("Space")
    assert column(table, 1)[:2] == ["ben", "ada"], "10 is more than 2"
    table.get_by_role("columnheader", name="Name").get_by_role("button").press("Space")
    assert column(table, 1) == sorted(before)
    page.set_viewport_size({"width": 390, "height": 844})
    expect(button).to_be_disabled()


# ── People see events at the time of their own zone, from the first page after signing in ──


AT = datetime(2026, 9, 5, 22, 5, 33, tzinfo=UTC)
ZONE, THERE = "America/New_York", "5 Sep 2026, 18:05"


def sign_in(page: Page, address: str, name: str) -> None:
    page.goto(address)
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password", exact=True).fill(make.PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def test_pages_and_scripts_show_times_in_the_zone_of_the_browser(page_of, live):
    project = make.make_project("ward")
    ann = make.make_member(project, user="ann")
    note = make.make_note(project, annotators=[ann])
    comment = Comment.objects.create(document=note, annotator=ann, author=ann, text="Why?")
    Comment.objects.filter(pk=comment.pk).update(created_at=AT)
    Amendment.objects.create(project=project, number=1, text="Rule", guidelines_version=1, at=AT)
    page = page_of(timezone_id=ZONE, locale="de-DE")
    # The first page that this browser ever opens sends it to the sign-in page, and then shows the amendments.
    sign_in(page, live("amendments", "ward"), "ann")
    time = page.locator("time")
    expect(time).to_have_text(THERE)
    expect(time).to_have_attribute("title", f"{THERE}:33 ({ZONE})")
    [cookie] = [one for one in page.context.cookies() if one["name"] == "deidreview-timezone"]
    assert (cookie["value"], cookie["path"], cookie["sameSite"], cookie["expires"]) == (ZONE, "/", "Lax", -1)
    page.goto(live("annotate", "ward", note.pk))
    time = page.locator("#threads time")
    expect(time).to_have_text(THERE)
    expect(time).to_have_attribute("title", f"{THERE}:33 ({ZONE})")
