"""The corpus statistics of a split version, in Chromium; axe-core on the page."""

import pytest
from playwright.sync_api import expect

from annotations.gold.services.making import freeze
from annotations.gold.services.splitting import split_version
from tests import factories as make

TEXT = "Mario Rossi, 54 anni, visto il 12/03/2021 a Torino dal dott. Bianchi."
SPANS = [(0, 11, "PATIENT"), (13, 15, "AGE"), (44, 50, "CITY")]

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.nightly
def test_from_a_version_to_its_statistics(page_of, live, axe):
    project = make.make_project("covid", name="Covid ward")
    gold = make.make_author(project, kind="gold", name="gold")
    for number in range(10):
        note = make.make_note(project, TEXT, f"caso-{number:02}", patient_id=f"p{number}")
        make.make_set(note, gold, SPANS[: 1 + number % 3], submitted=True)
    version, _ = freeze(project=project, actor=None)
    split_version(version=version, seed="s", shares={"train": 60, "dev": 20, "test": 20}, actor=None)
    page = page_of(make.make_member(project, "viewer"))
    page.set_viewport_size({"width": 390, "height": 800})
    page.emulate_media(color_scheme="dark")
    page.goto(live("gold_version", "covid", 1))
    page.locator("main").get_by_role("link", name="Statistics").click()
    table = page.get_by_role("table", name="Spans by label, category and split", exact=True)
    expect(table.get_by_role("row", name="NAME: PATIENT").get_by_role("cell").last).to_have_text("10")
    expect(page.get_by_role("img", name="Number of spans by label and split.")).to_be_visible()
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


# The names that begin left of their chart, or end right of it.
CUT = """() => [...document.querySelectorAll("svg.plot")].flatMap((plot) => {
  const box = plot.getBoundingClientRect();
  return [...plot.querySelectorAll("text")].filter((text) => {
    const own = text.getBoundingClientRect();
    return own.left < box.left || own.right > box.right;
  }).map((text) => text.textContent);
})"""


@pytest.mark.nightly
def test_no_name_of_a_label_is_cut(page_of, live):
    labels = ("MEDICALRECORD", "LOCATION_OTHER", "WWWWWWWWMMMM", "CITY")
    project = make.make_project("ward", labels=[("ALL", [(label, "") for label in labels])])
    gold = make.make_author(project, kind="gold", name="gold")
    spans = [(at * 5, at * 5 + 4, label) for at, label in enumerate(labels)]
    make.make_set(make.make_note(project, TEXT), gold, spans, submitted=True)
    freeze(project=project, actor=None)
    page = page_of(make.make_member(project, "manager"))
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(live("gold_statistics", "ward"))
        assert set(labels) <= set(page.locator("svg.plot text").all_text_contents())
        assert page.evaluate(CUT) == []
