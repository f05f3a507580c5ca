"""axe-core on every page, light on a wide screen and dark on a phone, where nothing is wider than the screen.

The pages are those of the access table; by day the working screens, and pages with elements that others don't have.
What opens only after an act of a person is checked in the second half, or in the test that reaches it.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.models import Comment, Job, Label
from models_runtime.core import external
from tests import factories as make
from tests.browser.annotate.steps import TEXT, drag, open_note, press
from tests.browser.conftest import FRAME, axe_source
from tests.browser.review.steps import world as reviewed
from tests.deidreview.access_table import PERSONAS, TABLE
from tests.deidreview.access_world import SMALL, build_world, url_of

__all__ = ["reviewed"]  # the fixture
# Addresses of files and data, with or without a page around them.
NO_PAGES = {
    "healthz", "metrics", "script_words", "note_data", "spans", "talk", "comments_export", "guidelines_beside",
    "import_report", "note_original", "source_page", "file_download", "decisions_export", "agreement_table",
    "sentences_export", "adjudicate_state", "run_rewritten", "model_file", "review_state", "api_openapi",
    "certificate_json", "certificate_pdf", "archive_file", "recording_file", "signing_key_pem", "known_lists_csv",
}  # fmt: skip
# Forms of one template.
ALIKE = {"run_tagger", "run_flair", "run_zero_shot", "run_remote", "injected_errors", "category_edit", "release_policy"}
# Pages on which people work, long forms, and those that bring many forms of elements. The tests below open others.
BY_DAY = {
    "projects", "project_new", "project", "project_settings", "notes", "note", "people", "import", "review_string",
    "adjudicate", "runs", "models", "model", "gold_statistics", "release_new", "release_findings", "release_note",
    "audit_read", "pairs", "feed", "recording", "recording_import", "records", "record_schema", "record",
}  # fmt: skip
# A page in another theme and width has the same elements: only rules on colors and sizes can find more.
LOOKS = {"runOnly": ["color-contrast", "scrollable-region-focusable", "link-in-text-block"]}
WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


def pages(persona: str) -> list[str]:
    at = PERSONAS.index(persona)
    gets = {name: row["GET"].split()[at] for name, row in TABLE.items() if "GET" in row}
    left = NO_PAGES | ALIKE
    return [name for name, status in gets.items() if status == "200" and name not in left and "scim" not in name]


# What may differ from other pages in a way that axe-core notices: classes, style sheets, and the forms of elements:
# names, classes and attributes. Only the link of the open page differs between many headers.
FORMS = """() => {
    const classes = [...document.querySelectorAll("[class]")].flatMap((each) => [...each.classList]);
    const sheets = [...document.styleSheets].map((each) => each.href);
    const form = (e) => [e.tagName, e.className, ...e.getAttributeNames(), e.getAttribute("role"), e.type].join(" ");
    const head = [...document.querySelectorAll(".site-head *")].map((e) => form(e).replace(" aria-current", ""));
    const elements = [...document.querySelectorAll("main *")].map(form);
    return [[...new Set(classes)].map((name) => CSS.escape(name)), sheets, head, [...new Set(elements)]];
}"""


def faults(page: Page, axe: Any, seen: set[str], every: bool = True) -> list[str]:
    """What is wrong with a page that is open on a wide screen.

    `seen` is what the pages before had. Elements of known classes have no other colors in the other theme either, since
    both themes have the same tokens (tests/deidreview/test_colors.py). A header of known forms is not checked again,
    and, unless `every` page is to be checked, neither is a page whose elements all have known forms.
    axe-core loads style sheets anew for a rule on them, which new ones need.
    """
    classes, sheets, head, elements = page.evaluate(FORMS)
    found = []
    if every or not seen.issuperset([*sheets, *head, *elements]):
        found += axe(page, without=FRAME if seen.issuperset(head) else (), preload=not seen.issuperset(sheets))
    page.set_viewport_size(PHONE)
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        found.append("wider than a phone")
    if new := [f".{name}" for name in classes if name not in seen]:
        page.emulate_media(color_scheme="dark")
        found += [f"dark, on a phone: {line}" for line in axe(page, new, (), **LOOKS)]
        page.emulate_media(color_scheme="light")
    page.set_viewport_size(WIDE)
    seen |= {*classes, *sheets, *head, *elements}
    return found


@contextmanager
def bringing_axe(page: Page) -> Iterator[None]:
    """Let each page that is opened have axe-core, which is sent to the browser once."""
    session = page.context.new_cdp_session(page)
    session.send("Page.enable")
    session.send("Page.addScriptToEvaluateOnNewDocument", {"source": axe_source()})
    yield
    session.detach()


@pytest.fixture
def full(transactional_db, monkeypatch, settings, tmp_path):
    """A project with an object of every kind; a failed, a running and a waiting job."""
    settings.REDIS_URL = f"unix://{tmp_path}/nothing.sock"
    settings.REQUESTS_PER_WINDOW = settings.ANONYMOUS_PER_WINDOW = 10**9
    for backend, model in SMALL.items():
        monkeypatch.setitem(external.FOUND, backend, lambda model=model: [model])
    world = build_world()
    for state in ("running", "queued", "failed"):
        Job.objects.create(project=world.ours, kind="gold", key=state, state=state)
    return world


def test_every_page(full, page_of, live_server, axe, pytestconfig):
    every = pytestconfig.getoption("--nightly")
    visited = {
        "manager": [name for name in pages("manager") if every or name in BY_DAY],
        # What differs for those who can do less.
        "annotator": ["projects", "project", "notes", "annotate", "search_results"],
        "anonymous": [name for name in pages("anonymous") if name.startswith("account_")],
    }
    found, seen = [], set[str]()
    for persona, names in visited.items():
        page = page_of(full.people.get(persona))
        with bringing_axe(page):
            for name in names:
                answer = page.goto(live_server.url + url_of(name, full))
                assert answer is not None and answer.ok, name
                found += [f"{persona}, {name}: {line}" for line in faults(page, axe, seen, every)]
        if persona != "anonymous":
            answer = page.goto(live_server.url + url_of("note", full, "none"))
            assert answer is not None and answer.status == 404
            found += [f"{persona}, no note: {line}" for line in faults(page, axe, seen)]
    assert found == []


def test_what_opens_on_the_annotate_page(transactional_db, page_of, live, axe):
    guidelines = "# Names\n\nTitles stay **outside**.\n\n# Dates\n\nYears count. [Law](https://example.org/x)\n"
    project = make.make_project("covid", guidelines=guidelines, guidelines_version=3)
    Label.objects.filter(name="PATIENT").update(
        description="Without titles.",
        attributes=[{"name": "Family"}, {"name": "Status", "values": ["current", "past"]}],
    )
    ann = make.make_member(project, user="ann")
    notes = [make.make_note(project, TEXT + "Rossi e Rossi.\n", f"n{at}", annotators=[ann]) for at in (1, 2)]
    for about in ({}, {"start": 9, "end": 20}):
        Comment.objects.create(document=notes[0], annotator=ann, author=ann, text="Or his father?", **about)
    page = open_note(page_of(ann), live, notes[0])
    found, seen = [], set[str]()

    def check(name: str, *keys: str) -> None:
        found.extend(f"{name}: {line}" for line in faults(page, axe, seen))
        press(page, *keys)

    press(page, "Enter")
    expect(page.get_by_role("alertdialog")).to_be_visible()
    check("question", "Escape")
    press(page, "ArrowRight", "ArrowRight", "Shift+ArrowRight", "1", "F4")
    expect(page.get_by_role("dialog", name="Attributes")).to_be_visible()
    press(page, "1")
    check("attributes", "Escape", "Escape")
    press(page, "ArrowRight", "ArrowLeft", "2", "*")
    expect(page.get_by_role("dialog", name="Label other mentions")).to_be_visible()
    check("other mentions", "Escape", "Shift+Enter")
    expect(page.get_by_role("dialog", name="Spans here")).to_be_visible()
    check("spans here", "Escape", "Escape", "ArrowRight", "Enter")
    expect(page.locator("#palette")).to_be_visible()
    check("palette", "Escape", "Escape", "?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    check("keys", "Escape", "f")
    expect(page.locator("#flag-dialog")).to_be_visible()
    check("flag", "Escape")
    expect(page.locator("#note")).to_be_focused()  # The focus comes back when the dialog has closed.
    press(page, "/")
    page.keyboard.type("rossi")
    expect(page.locator("#find-count")).to_have_text(re.compile("of 3"))
    check("find", "Escape", "g")
    expect(page.locator("#guide-body")).to_contain_text("Version 3")
    check("guidelines", "Escape")
    # Nothing moves for those who don't want it, and what moves for others does so briefly (milliseconds).
    moving = """() => Math.max(...[...document.querySelectorAll("*")].map((each) =>
        Math.max(...getComputedStyle(each).transitionDuration.split(",").map((time) => parseFloat(time) * 1000))))"""
    assert page.evaluate(moving) <= 120
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(moving) == 0
    press(page, "Escape", "Enter")
    expect(page.locator("#submitted")).to_be_visible()
    check("submitted", "p")
    expect(page.locator("#reopen")).to_be_visible()
    check("handed in")
    assert found == []


def test_what_opens_on_the_review_page(reviewed, page_of, axe):
    page = page_of(reviewed.rita, "review", "covid", reviewed.run.pk, reviewed.note.pk)
    page.wait_for_selector("html[data-review=ready]")
    seen = set[str]()
    found = faults(page, axe, seen)
    press(page, "a", "x", "c")
    page.locator("#filters-box summary").click()
    drag(page, "54 anni")
    expect(page.locator("#palette")).to_be_visible()
    found += faults(page, axe, seen)
    press(page, "Escape", "Escape", "?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    found += faults(page, axe, seen)
    assert found == []


def test_menus(full, page_of, live_server, axe):
    page = page_of(full.people["manager"])
    page.goto(live_server.url + url_of("project", full))
    for width, menus in ((1440, [".gear-menu"]), (390, [".gear-menu", ".nav-button"])):
        page.set_viewport_size({"width": width, "height": 900})
        for menu in menus:
            page.locator(f"{menu} > summary").press("Enter")
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                assert axe(page, without=()) == []
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), menu
            page.keyboard.press("Escape")
            expect(page.locator(f"{menu} > summary")).to_be_focused()
