"""People see events at the time of their own zone, from the first page after signing in."""

from datetime import UTC, datetime

import pytest
from playwright.sync_api import Page, expect

from annotations.models import Amendment, Comment
from tests import factories as make

pytestmark = pytest.mark.django_db(transaction=True)
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
