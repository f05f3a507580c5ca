"""The annotate page by keyboard alone: spans at two keys each, every key of the sheet, hard texts; attributes."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.models import AnnotationSet, DocumentSource, Event, Label, Span, StoredFile, StoredFileKind
from tests.browser.annotate.steps import TEXT as SHORT
from tests.browser.annotate.steps import click_text, open_note, painted, press, reload, saved

TEXT = (
    "Nome: Mario Rossi.\n"
    "Paziente ricoverato il 12 marzo 2021, abita in Via Roma 12, 10121 Torino. Stava bene. Poi tornava.\n"
    "Rossi riferisce dolore; ROSSI dimesso, Rossini no. Il sig. Rossi torna il 20/03/2021.\n"
)
ARABIC = "المريض محمد علي عمره 54 سنة\nvisto a Torino\n"
LINES = "Uno due tre.\nQuattro cinque sei.\nSette otto nove.\n"


def chosen(page: Page, *keys: str) -> str:
    """The selected text after these keys."""
    press(page, *keys)
    return " ".join(str(page.evaluate("document.getSelection().toString()")).split())


def test_two_keys_a_span(walk_over):
    walk = walk_over(TEXT, TEXT, TEXT, ARABIC)
    page = walk.page
    # Wider, narrower, and the last label again.
    assert chosen(page, "Control+End", "Control+ArrowLeft", "Home", "End") == "."
    assert chosen(page, "ArrowLeft", "+") == "20/03/2021"
    assert chosen(page, "-") == "2021"
    press(page, "+", " ")  # no label was given yet: the palette asks
    expect(page.locator("#palette button").first).to_be_focused()
    press(page, "Shift+A")  # no key of its own: by its name
    expect(page.locator("#palette button:visible").filter(has=page.locator(".name"))).to_have_count(4)
    page.keyboard.type("GE")
    assert walk.after("Enter") == [("AGE", "20/03/2021")]
    assert walk.after("Home", " ") == [("AGE", "Rossi"), ("AGE", "20/03/2021")]
    # Of a selected span: its ends, and another label by F2, where the last one comes first.
    press(page, "Shift+ArrowRight", "Alt+Shift+ArrowRight", "Control+Shift+ArrowLeft")
    assert walk.made[0] == ("AGE", "ossi riferisc")
    press(page, "F2")
    expect(page.locator("#palette button").first).to_contain_text("AGE")
    press(page, "ArrowRight", "Enter")
    expect(page.locator("#note")).to_be_focused()
    assert walk.after("Backspace", "Control+z", "Control+Shift+z") == [("AGE", "20/03/2021")]
    # `,` selects the next unlabeled candidate; a label's key, or `.` for the last label, labels it.
    walk.go_on()
    assert chosen(page, ",") == "Mario Rossi"
    assert chosen(page, "1", ",", "d", ",") == "Via Roma 12"
    assert chosen(page, ",", ",") == "Torino"
    assert chosen(page, "c", ",") == "Rossi"  # at the start of its sentence; named before
    assert chosen(page, ";") == "10121"
    press(page, ".")
    assert walk.made == [("PATIENT", "Mario Rossi"), ("DATE", "12 marzo 2021"), ("CITY", "10121"), ("CITY", "Torino")]
    # Nothing left: a word says so.
    press(page, "Control+Home", "Control+Shift+End", "1", "Escape", ",")
    expect(page.locator("#selected .wb-hint")).to_contain_text("are labeled. Keep reading")
    # Every other mention as one change.
    walk.go_on()
    press(page, ",", "ArrowRight", "ArrowLeft", "1")  # Rossi, of Mario Rossi
    expect(page.locator("#selected [data-act=all]")).to_contain_text("Label all 2 other mentions")
    press(page, "*")
    box = page.get_by_role("dialog", name="Label other mentions")
    ticks = box.locator("li input")
    expect(ticks).to_have_count(2)
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
    assert walk.made == [("PATIENT", "Rossi")] * 3
    assert Event.objects.filter(document_id=walk.note.pk, verb__startswith="span").count() == 2
    assert walk.after("Control+z") == [("PATIENT", "Rossi")]
    assert walk.after("Control+Shift+z") == [("PATIENT", "Rossi")] * 3
    expect(page.locator("#note")).to_be_focused()
    # Arrows follow the writing.
    walk.go_on()
    assert chosen(page, "Home", "ArrowLeft") == "محمد"  # the next word lies to the left
    assert walk.after("Shift+ArrowLeft", "1") == [("PATIENT", "محمد علي")]
    assert walk.after("Alt+ArrowLeft") == [("PATIENT", "محمد علي عمره")]  # its left end is its end
    assert walk.after("Shift+ArrowRight", "Alt+ArrowRight", "Alt+Shift+ArrowRight") == [("PATIENT", "المريض محمد عل")]
    assert chosen(page, "ArrowDown", "Home", "ArrowRight", "ArrowRight") == "Torino"


def test_a_note_by_keys(walk_over):
    walk = walk_over(*[SHORT] * 5)
    page = walk.page
    # There is no note before the first: a page that was opened at a location stays as it is.
    page.evaluate("history.replaceState(null, '', '?at=0-8')")
    press(page, "p")
    expect(page.locator("#said")).to_contain_text("No more notes")
    # The whole note.
    press(page, "ArrowRight", "ArrowRight", "Shift+ArrowRight", "1")  # Mario Rossi
    press(page, "ArrowRight", "ArrowRight")  # over the comma to 54
    press(page, "Enter")
    expect(page.locator("#palette button").first).to_be_focused()
    press(page, "ArrowRight", "ArrowRight", "Enter")  # the third label
    expect(page.locator("#palette")).to_be_hidden()
    expect(page.locator("#note")).to_be_focused()
    assert walk.made == [("PATIENT", "Mario Rossi"), ("DATE", "54")]
    press(page, "Shift+Tab")
    expect(page.locator("#note .is-selected")).to_have_text("Mario Rossi")
    press(page, "2")
    assert walk.after("Tab", "Delete") == [("DOCTOR", "Mario Rossi")]
    assert walk.after("Control+z") == [("DOCTOR", "Mario Rossi"), ("DATE", "54")]
    assert walk.after("Control+z")[0] == ("PATIENT", "Mario Rossi")
    assert walk.after("Control+Shift+z", "Control+y") == [("DOCTOR", "Mario Rossi")]
    press(page, "Escape", "Enter")
    assert AnnotationSet.objects.get(document=walk.handed_in()).state == "submitted"
    # The sheet names what is bound.
    press(page, "?")
    sheet = page.get_by_role("dialog", name="Keys")
    expect(sheet).to_be_visible()
    for words in ("Undo", "Ctrl+Z", "PATIENT", "Next note", "This list"):
        expect(sheet).to_contain_text(words)
    press(page, "Escape")
    expect(sheet).to_be_hidden()
    # Resize by keys.
    walk.go_on()
    press(page, "ArrowRight", "ArrowRight", "1")
    assert walk.after("Shift+ArrowRight") == [("PATIENT", "Mario Rossi")]
    assert walk.after("Alt+ArrowRight") == [("PATIENT", "Rossi")]
    assert walk.after("Alt+ArrowLeft", "Alt+ArrowLeft", "Shift+ArrowLeft") == [("PATIENT", "Paziente Mario")]
    assert len(walk.made) == 1
    # Tab leaves after the last span and escape leaves at once.
    walk.go_on()
    press(page, "ArrowRight", "1", "Tab")
    assert page.evaluate("document.activeElement.id") != "note"
    page.locator("#note").focus()
    press(page, "Escape", "Escape")
    assert page.evaluate("document.activeElement.id") == "side"
    # Beside the note, Tab and the arrows are the browser's.
    press(page, "Tab", "ArrowRight")
    assert page.evaluate("document.activeElement.matches('#side *')")
    expect(page.locator("#note .is-selected")).to_have_count(0)


def test_the_palette_finds_labels_without_underscores_and_offers_the_last_ones_first(walk_over):
    names = ["NOMBRE", "ID_TITULACION_SANITARIO", "ID SUJETO", "NUMERO-FAX", "CALLE"]
    page = walk_over("uno dos tres cuatro", labels=[("ALL", [(name, "") for name in names])]).page
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


def test_submitting_by_a_held_key_and_a_comment_that_waits(walk_over: Any) -> None:
    page = walk_over(*[LINES] * 3).page
    # A note without spans is submitted after a question; what a submitted note refuses is told, and the notice closes.
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("button", name="Yes, submit").click()
    expect(page.locator("#note-name")).to_have_text("n01")
    page.locator("#previous-note").click()
    expect(page.locator("#reopen")).to_be_visible()
    press(page, "ArrowRight", "1")
    notice = page.locator("#notice")
    expect(notice).to_contain_text("This note is submitted. Reopen it to change it.")
    notice.get_by_role("button", name="Close").click()
    expect(notice).to_be_hidden()
    # From a submitted note to the next one, without loading a page.
    page.evaluate("window.stayed = true")
    page.locator("#next-open").click()
    expect(page.locator("#note-name")).to_have_text("n01")
    assert page.evaluate("window.stayed")
    # A key that is held down hands in one note.
    saved(page, "ArrowRight", "1")
    page.keyboard.press("Escape")
    page.keyboard.down("Enter")
    expect(page.locator("#note-name")).to_have_text("n02")
    page.keyboard.down("Enter")
    page.keyboard.down("Enter")
    page.keyboard.up("Enter")
    saved(page, "ArrowRight", "1")
    expect(page.locator("#note-name")).to_have_text("n02")
    assert AnnotationSet.objects.filter(state="submitted").count() == 2
    # Words that wait in a comment warn too.
    press(page, "m")
    page.keyboard.type("Half a thought")
    with page.expect_event("dialog") as asked:
        page.once("dialog", lambda dialog: dialog.dismiss())
        page.close(run_before_unload=True)
    assert asked.value.type == "beforeunload"


# ── Attributes on the annotate page: set by key, by mouse and by finger, shown, undone, and after a reload ──


@pytest.fixture
def given(world):
    Label.objects.filter(name="PATIENT").update(
        attributes=[{"name": "Family"}, {"name": "Status", "values": ["current", "past"]}]
    )
    return world


def stored() -> list[Any]:
    return list(Span.objects.order_by("start").values_list("attributes", flat=True))


def label_the_name(page: Page) -> None:
    press(page, ",", "1")
    expect(page.locator("#selected .chip")).to_have_text("PATIENT")


def test_by_key(given, page_of, live):
    page = open_note(page_of(given.ann), live, given.note)
    label_the_name(page)
    press(page, "F4")
    window = page.get_by_role("dialog", name="Attributes")
    expect(window).to_be_visible()
    press(page, "1", "3")
    expect(window.get_by_role("button", pressed=True)).to_have_text(["1Family", "3past"])
    press(page, "2")
    expect(window.get_by_role("button", pressed=True)).to_have_text(["1Family", "2current"])
    press(page, "Escape")
    expect(window).to_be_hidden()
    piece = page.locator("#note .span.has-attributes")
    expect(piece).to_have_attribute("aria-label", "PATIENT, Family, Status: current")
    expect(page.locator("#selected .wb-attributes")).to_have_text("Family · Status: current")
    saved(page)
    assert stored() == [{"Family": True, "Status": "current"}]
    # The server draws the span as the script did.
    drawn = piece.evaluate("piece => piece.outerHTML.replace(/ is-selected| data-span=.\\S+/g, '')")
    reload(page)
    assert piece.evaluate("piece => piece.outerHTML.replace(/ is-selected| data-span=.\\S+/g, '')") == drawn
    click_text(page, "Mario")
    press(page, "c")
    expect(page.locator("#note .span")).to_have_attribute("aria-label", "CITY")
    press(page, "F4")
    expect(window).to_be_hidden()
    expect(page.locator("#selected .wb-hint")).to_contain_text("have no attributes")


def test_the_page_of_the_document_beside_the_text(world, page_of, live):
    original = StoredFile.objects.create(project=world.project, kind=StoredFileKind.ORIGINAL, name="a.pdf")
    places = [[0, world.note.length, "page 3"]]
    DocumentSource.objects.create(document=world.note, original=original, name="a.pdf", kind="pdf", places=places)
    page = page_of(world.ann)
    page.route("**/original/pages/*", lambda route: route.fulfill(status=404))
    open_note(page, live, world.note)
    press(page, "F8")
    expect(page.locator("#selected").get_by_text("No page to show. Select a span")).to_be_visible()
    expect(page.locator("#said")).to_contain_text("No page to show.")
    label_the_name(page)
    press(page, "F2", "Escape", "F8")
    expect(page.locator("#selected .wb-places")).to_contain_text("In the document: page 3")
    beside = page.get_by_role("complementary", name="page 3")
    expect(beside).to_contain_text("The page can't be shown.")
    press(page, "F8")
    expect(beside).to_be_hidden()
