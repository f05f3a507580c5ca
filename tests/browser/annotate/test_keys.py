"""The annotate page by keyboard alone: spans at two keys each, and texts that are hard for other tools."""

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.models import Event
from tests import factories as make
from tests.browser.annotate.steps import click_text, open_note, painted, press, quotes, saved

TEXT = (
    "Nome: Mario Rossi.\n"
    "Paziente ricoverato il 12 marzo 2021, abita in Via Roma 12, 10121 Torino. Stava bene. Poi tornava.\n"
    "Rossi riferisce dolore; ROSSI dimesso, Rossini no. Il sig. Rossi torna il 20/03/2021.\n"
)
ARABIC = "المريض محمد علي عمره 54 سنة\nvisto a Torino\n"


def note_of(text: str, labels: Any = make.LABELS) -> SimpleNamespace:
    project = make.make_project("covid", labels)
    ann = make.make_member(project, user="ann")
    return SimpleNamespace(project=project, ann=ann, note=make.make_note(project, text, "caso", annotators=[ann]))


@pytest.fixture
def page(transactional_db: None, page_of: Any, live: Any, request: pytest.FixtureRequest) -> Page:
    made = note_of(getattr(request, "param", TEXT))
    page = open_note(page_of(made.ann), live, made.note)
    page.made = made  # type: ignore[attr-defined]
    return page


def gold(page: Page) -> list[tuple[str, str]]:
    saved(page)
    made = page.made  # type: ignore[attr-defined]
    return quotes(made.ann, made.note)


def chosen(page: Page) -> str:
    return str(page.evaluate("document.getSelection().toString()"))


def test_two_keys_a_span(page: Page) -> None:
    """`,` selects the next unlabeled candidate; a label's key, or `.` for the last label, labels it."""
    press(page, ",")
    assert chosen(page) == "Mario Rossi"
    press(page, "1", ",", "d", ",")
    assert chosen(page) == "Via Roma 12"
    press(page, ",", ",")
    assert chosen(page) == "Torino"
    press(page, "c", ",")
    assert chosen(page) == "Rossi"  # at the start of its sentence; named before
    press(page, ";")
    assert chosen(page) == "10121"
    press(page, ".")
    assert gold(page) == [("PATIENT", "Mario Rossi"), ("DATE", "12 marzo 2021"), ("CITY", "10121"), ("CITY", "Torino")]
    # Nothing left: a word says so.
    press(page, "Control+Home", "Control+Shift+End", "1", "Escape", ",")
    expect(page.locator("#selected .wb-hint")).to_contain_text("are labeled. Keep reading")


def test_wider_narrower_and_the_last_label_again(page: Page) -> None:
    press(page, "Control+End", "Control+ArrowLeft", "Home", "End")
    assert chosen(page) == "."
    press(page, "ArrowLeft", "+")
    assert chosen(page) == "20/03/2021"
    press(page, "-")
    assert chosen(page) == "2021"
    press(page, "+", " ")  # no label was given yet: the palette asks
    expect(page.locator("#palette button").first).to_be_focused()
    press(page, "Shift+A")  # no key of its own: by its name
    expect(page.locator("#palette button:visible").filter(has=page.locator(".name"))).to_have_count(4)
    page.keyboard.type("GE")
    press(page, "Enter")
    assert gold(page) == [("AGE", "20/03/2021")]
    press(page, "Home", " ")
    assert gold(page) == [("AGE", "Rossi"), ("AGE", "20/03/2021")]
    # Of a selected span: its ends, and another label by F2, where the last one comes first.
    press(page, "Shift+ArrowRight", "Alt+Shift+ArrowRight", "Control+Shift+ArrowLeft")
    assert gold(page)[0] == ("AGE", "ossi riferisc")
    press(page, "F2")
    expect(page.locator("#palette button").first).to_contain_text("AGE")
    press(page, "ArrowRight", "Enter")
    expect(page.locator("#note")).to_be_focused()
    press(page, "Backspace", "Control+z", "Control+Shift+z")
    assert gold(page) == [("AGE", "20/03/2021")]


def test_every_other_mention_as_one_change(page: Page, axe: Any) -> None:
    press(page, ",", "ArrowRight", "ArrowLeft", "1")  # Rossi, of Mario Rossi
    expect(page.locator("#selected [data-act=all]")).to_contain_text("All 2 other mentions")
    press(page, "*")
    box = page.get_by_role("dialog", name="Label other mentions")
    ticks = box.locator("li input")
    expect(ticks).to_have_count(2)
    assert axe(page) == []
    expect(ticks.first).to_be_focused()
    press(page, "ArrowUp", "ArrowUp", "ArrowUp", " ")  # over the buttons to any case
    expect(ticks).to_have_count(3)
    press(page, "ArrowUp", " ")  # the last of them
    expect(box.get_by_role("button", name="Label 2")).to_be_visible()
    press(page, "Escape")
    expect(box).to_be_hidden()
    assert len(painted(page)) == 1
    press(page, "*", "Enter")
    expect(page.locator("#note .span")).to_have_count(3)
    expect(page.locator("#selected [data-act=remove]")).to_be_visible()
    expect(page.locator("#selected [data-act=all]")).to_have_count(0)
    assert gold(page) == [("PATIENT", "Rossi")] * 3
    assert Event.objects.filter(verb__startswith="span").count() == 2
    press(page, "Control+z")
    assert gold(page) == [("PATIENT", "Rossi")]
    press(page, "Control+Shift+z")
    assert gold(page) == [("PATIENT", "Rossi")] * 3
    expect(page.locator("#note")).to_be_focused()


def test_lines_screens_and_sentences(page: Page) -> None:
    press(page, "ArrowDown", "ArrowDown", "End")
    assert chosen(page) == "."
    press(page, "Shift+Home")
    assert chosen(page).startswith("Paziente ricoverato")
    press(page, "Control+ArrowLeft", "Control+ArrowRight", "Control+ArrowRight")
    assert chosen(page) == "Stava"
    press(page, "PageDown")
    assert chosen(page) == "."
    press(page, "PageUp")
    assert chosen(page) == "Nome"


@pytest.mark.parametrize("page", [ARABIC], indirect=True)
def test_arrows_follow_the_writing(page: Page) -> None:
    press(page, "Home", "ArrowLeft")  # the next word lies to the left
    assert chosen(page) == "محمد"
    press(page, "Shift+ArrowLeft", "1")
    assert gold(page) == [("PATIENT", "محمد علي")]
    press(page, "Alt+ArrowLeft")  # its left end is its end
    assert gold(page) == [("PATIENT", "محمد علي عمره")]
    press(page, "Shift+ArrowRight", "Alt+ArrowRight", "Alt+Shift+ArrowRight")
    assert gold(page) == [("PATIENT", "المريض محمد عل")]
    press(page, "ArrowDown", "Home", "ArrowRight", "ArrowRight")
    assert chosen(page) == "Torino"


@pytest.mark.parametrize("page", ["Mario Rossi " * 1700], indirect=True)
def test_a_line_of_twenty_thousand_characters(page: Page) -> None:
    press(page, "End", "ArrowLeft", "ArrowLeft", "Shift+ArrowRight", "1")
    press(page, "Control+Home", ",", "2", ",", "2")
    found = gold(page)
    assert [label for label, _ in found] == ["DOCTOR", "DOCTOR", "PATIENT"]
    click_text(page, "Mario")
    expect(page.locator("#note .is-selected")).not_to_have_count(0)


def test_a_label_keeps_its_key(transactional_db: None, page_of: Any, live: Any) -> None:
    """A label file may use a key of the program: the label gets it, and the sheet shows the remaining keys."""
    made = note_of(TEXT, [("name", [("PATIENT", "1"), ("DOT", "."), ("PLUS", "+")])])
    page = open_note(page_of(made.ann), live, made.note)
    press(page, ",", ".", "Control+Home", "Alt+ArrowUp", "+")
    saved(page)
    assert quotes(made.ann, made.note)[0] == ("PLUS", "Nome: Mario Rossi.")
    press(page, "?")
    sheet = page.get_by_role("dialog", name="Keys")
    row = sheet.locator("dl > div")
    expect(row.filter(has_text="Use the last label again").locator("kbd")).to_have_text(["Space"])
    expect(row.filter(has_text="DOT").locator("kbd")).to_have_text(["."])
    expect(row.filter(has_text="Widen: word").locator("kbd")).to_have_text(["Alt+↑"])
    expect(sheet.get_by_role("heading", level=3).last).to_have_text("Labels")
    expect(sheet).to_contain_text("Double click")


def test_the_palette_finds_labels_without_underscores_and_offers_the_last_ones_first(
    transactional_db: None, page_of: Any, live: Any
) -> None:
    names = ["NOMBRE", "ID_TITULACION_SANITARIO", "ID SUJETO", "NUMERO-FAX", "CALLE"]
    project = make.make_project("meddocan", labels=[("ALL", [(name, "") for name in names])])
    ann = make.make_member(project, user="ann")
    page = open_note(page_of(ann), live, make.make_note(project, "uno dos tres cuatro", annotators=[ann]))
    found = page.locator("#palette .wb-label:visible .name")
    for typed, label in (("IDTIT", names[1]), ("id_tit", names[1]), ("idsuj", names[2]), ("numerof", names[3])):
        press(page, "Control+Home", "ArrowRight", "F2")
        page.keyboard.type(typed)
        expect(found).to_have_count(1)
        expect(found).to_have_attribute("title", label)
        press(page, "Enter", "Escape")
    press(page, "Control+End", "F2")
    expect(found).to_have_count(5)
    titles = found.evaluate_all("all => all.map(one => one.title)")
    assert titles == [names[3], names[2], names[1], names[0], names[4]]
