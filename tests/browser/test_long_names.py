"""Long codes of labels and names of notes and runs in Chromium: in one line, in full as title and accessible name."""

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.models import Label
from models_runtime.models import Run
from tests import factories as make

LABEL = "IDENTIFIERNUMBEROFTHEHEALTHINSURANCECOMPANYINTHEREGISTRY2024"
NOTE = "discharge" * 12 + "-letter-0042"
RUN = "transformer" * 8 + "-run-0007"
TEXT = "Mario Rossi, 54 anni, visto il 12/03/2021 a Torino dal dott. Bianchi."
# Words of names that are broken over lines, and names that are cut without their title.
BROKEN = """(places) => {
  const found = [];
  for (const root of document.querySelectorAll(places)) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.parentElement.closest(".sr-only") || !node.parentElement.checkVisibility()) continue;
      for (const word of node.data.matchAll(/\\S+/g)) {
        const range = document.createRange();
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const tops = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
        if (tops.size > 1) found.push(word[0]);
      }
    }
    for (const name of root.querySelectorAll(".name")) if (!name.title) found.push(`no title: ${name.textContent}`);
  }
  return found;
}"""
PLACES = "h1, .crumbs, .pills, .label-counts, .wb-labels, .wb-palette, .wb-keys-list, #chosen, #suggestions"


@pytest.fixture
def world(transactional_db: None) -> SimpleNamespace:
    project = make.make_project("covid")
    rita, ann = make.make_member(project, "reviewer", "rita"), make.make_member(project, user="ann")
    mia, ben = make.make_member(project, "manager", "mia"), make.make_member(project, user="ben")
    label = make.label_of(project, "CITY")
    Label.objects.filter(pk=label.pk).update(name=LABEL, code=LABEL)
    note = make.make_note(project, TEXT, NOTE, language="it", annotators=[ann, ben])
    author = make.make_author(project, kind="run", name=RUN)
    run = Run.objects.create(project=project, author=author, backend="rules", revision="1")
    spans = [(0, 11, "PATIENT"), (44, 50, LABEL)]
    make.make_set(note, author, spans, submitted=True)
    make.make_set(note, make.make_author(project, kind="gold", name="gold"), spans, submitted=True)
    make.make_set(note, ben, [(0, 11, "PATIENT")], submitted=True)
    return SimpleNamespace(
        project=project, rita=rita, ann=ann, mia=mia, note=note, run=run, author=author, label=label, ben=ben
    )


def check(page: Page, name: str) -> None:
    """The heading has the name in full, nothing overflows the window, and no word of a name is broken."""
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_accessible_name(name)
    if name in (NOTE, RUN):
        expect(heading.locator(".name")).to_have_attribute("title", name)
        box = heading.locator(".name-end").bounding_box()
        assert box and box["x"] + box["width"] <= page.evaluate("innerWidth"), "the end of the name is seen"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(BROKEN, PLACES) == []


@pytest.mark.nightly
def test_names_are_shortened_and_never_broken(world: SimpleNamespace, page_of: Any, live: Any) -> None:
    page = page_of(world.rita)
    for address, name in (
        (live("note", "covid", world.note.pk), NOTE),
        (live("run", "covid", world.run.pk), RUN),
        (live("score", "covid", 0, world.author.pk), RUN),
        (live("review", "covid", world.author.pk, world.note.pk), NOTE),
    ):
        page.goto(address)
        for width in (390, 1440):
            page.set_viewport_size({"width": width, "height": 900})
            check(page, name)
    page.wait_for_selector("html[data-review=ready]")
    crumbs = page.get_by_role("navigation", name="You are here").get_by_role("listitem")
    expect(crumbs.last.locator(".name")).to_have_attribute("title", NOTE)
    # On a phone, the levels above and the list are not shown.
    expect(crumbs.nth(1).get_by_role("link")).to_have_accessible_name(RUN)
    page.locator("#suggestions button", has_text="Torino").click()
    check(page, NOTE)
