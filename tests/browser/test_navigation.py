"""Navigation, lists and forms in Chromium: by keyboard, on a phone, with htmx and without scripts."""

from types import SimpleNamespace

import pytest
from playwright.sync_api import Page, expect

from annotations.gold.services.making import make_gold
from annotations.models import AnnotationSet, AuthorKind, Job
from tests import factories as make


@pytest.fixture
def mia(transactional_db):
    project = make.make_project("covid", name="Covid ward")
    ann = make.make_member(project, user="ann")
    note = make.make_note(project, annotators=[ann])
    run = make.make_author(project, kind="run", name="rules-1")
    make.make_set(note, run, [(0, 11, "PATIENT")], submitted=True)
    for number, state in enumerate(("running", "queued", "failed")):
        Job.objects.create(project=project, kind="gold", key=f"k{number}", state=state)
    return make.make_member(project, "manager", "mia")


def test_the_menus_open_without_scripts(mia, page_of, live):
    """On a phone, by keyboard: the button, then the first level, then the second level."""
    page = page_of(mia, "notes", "covid", viewport={"width": 390, "height": 844}, java_script_enabled=False)
    navigation = page.get_by_role("navigation", name="Project", exact=True)
    expect(navigation).to_be_hidden()
    page.locator(".nav-button > summary").focus()
    page.keyboard.press("Enter")
    expect(navigation).to_be_visible()
    expect(navigation.locator("[aria-current]")).to_have_text(["Notes", "List"])
    for name in ("Overview", "Notes", "List", "Import"):
        page.keyboard.press("Tab")
        expect(navigation.get_by_role("link", name=name, exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(live("import", "covid"))
    # On a wide screen the gear.
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(live("project", "covid"))
    page.locator(".gear-menu > summary").press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Settings", exact=True)).to_be_focused()
    page.get_by_role("navigation", name="Project settings").get_by_role("link", name="Audit").press("Enter")
    expect(page).to_have_url(live("audit", "covid"))


def test_the_second_level_takes_no_height_where_text_is_read(mia, page_of, live):
    """On the review screen the header has the height of the first level, and its menu lists the second level."""
    page = page_of(mia, "acceptance", "covid", viewport={"width": 1440, "height": 900})
    header = page.locator(".site-head")
    tall = header.bounding_box()["height"]
    page.goto(live("reviews", "covid"))  # the only run leads to its next note
    assert "/review/" in page.url
    assert header.bounding_box()["height"] <= tall - 30
    page.locator(".second-menu > summary").press("Enter")
    expect(page.get_by_role("link", name="By string", exact=True)).to_be_visible()
    page.get_by_role("link", name="In bulk", exact=True).press("Enter")
    expect(page).to_have_url(live("review_bulk_new", "covid"))


# ── Notes and gold in Chromium: what htmx adds to lists and forms ──


ROSSI = (0, 11, "PATIENT")


@pytest.fixture
def world(transactional_db):
    """Sixty notes, two pages of the list. Ann submitted the first two, Ben also the first; the second is gold."""
    project = make.make_project("covid", name="Covid ward")
    ann, ben = (make.make_member(project, user=name) for name in ("ann", "ben"))
    rev = make.make_member(project, "reviewer", "rev")
    notes = [make.make_note(project, name=f"caso-{n:03}", language="it", annotators=[ann]) for n in range(1, 61)]
    sets = [make.make_set(note, ann, [ROSSI], submitted=True) for note in notes[:2]]
    make.make_set(notes[0], ben, [(13, 15, "AGE")], submitted=True)
    make_gold(document=notes[1], annotation_set=sets[1], actor=rev)
    return SimpleNamespace(notes=notes, rev=rev)


def test_filters_pages_and_searches_have_addresses_without_text(world, page_of):
    page: Page = page_of(world.rev, "notes", "covid")
    rows = page.locator("#notes tbody tr")
    expect(rows).to_have_count(50)
    page.get_by_role("link", name="Next").focus()
    page.keyboard.press("Enter")
    expect(rows).to_have_count(10)
    assert page.url.endswith(f"?after={world.notes[49].pk}")
    # There is no link to a next page to focus, so the list has the focus, once htmx has processed its links.
    expect(page.locator("#notes")).to_be_focused()
    page.get_by_role("link", name="Gold", exact=True).nth(1).press("Enter")
    expect(rows).to_have_count(1)
    expect(page.locator("#show-gold")).to_be_focused()
    page.get_by_label("Note name").fill("so-01")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Names containing")).to_be_visible()
    expect(rows).to_have_count(10)
    assert "?found=" in page.url and "so-01" not in page.url
    page.reload()
    expect(rows).to_have_count(10)
    page.get_by_role("link", name="Show all notes").press("Enter")
    expect(rows).to_have_count(50)
    expect(page.locator("#notes")).to_be_focused()  # in place of the removed link
    expect(page.get_by_label("Note name")).to_have_value("")
    page.go_back()
    expect(rows).to_have_count(10)
    page.go_back()
    expect(rows).to_have_count(1)


def test_gold_is_made_and_replaced_by_keys_alone(world, page_of, live):
    page: Page = page_of(world.rev)
    page.goto(live("note", "covid", world.notes[0].pk) + "?state=no-gold")
    page.get_by_role("button", name="Make gold", exact=True).press("Enter")
    expect(page.locator("#messages")).to_contain_text("are now gold")
    page.get_by_role("link", name="ben").press("Enter")
    expect(page.get_by_text("Only in gold").first).to_be_visible()
    page.locator("summary", has_text="Replace gold").press("Enter")
    expect(page.get_by_text("1 gold span is removed")).to_be_visible()
    page.get_by_role("button", name="Keep it as it is").press("Enter")
    expect(page.locator("summary", has_text="Replace gold")).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Replace gold").press("Enter")
    expect(page.locator("#messages")).to_contain_text("The annotations of ben are now gold")
    gold = AnnotationSet.objects.get(document=world.notes[0], author__kind=AuthorKind.GOLD)
    assert list(gold.spans.values_list("start", "end")) == [(13, 15)]
