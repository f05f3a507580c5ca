"""The annotate page in Chromium, by mouse and by keyboard."""

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.models import AnnotationSet, Event, Span
from tests import factories as make

TEXT = (
    "Paziente Mario Rossi, 54 anni, ricoverato il 12/03/2021 a Torino.\r\n"
    "\r\n"
    "Visto dal dott. Bianchi; controllo il 20/03/2021.\r\n"
    "Torna a casa.\r\n"
)


@pytest.fixture
def world(transactional_db: None) -> SimpleNamespace:
    project = make.make_project("covid")
    ann, ben = make.make_member(project, user="ann"), make.make_member(project, user="ben")
    notes = [
        make.make_note(project, TEXT, f"caso-00{number}", readers=[ann, ben], language="it") for number in (1, 2, 3)
    ]
    return SimpleNamespace(project=project, ann=ann, ben=ben, notes=notes, note=notes[0])


@pytest.fixture
def opened(world: SimpleNamespace, page_of: Any, live: Any) -> Page:
    return open_note(page_of(world.ann), live, world.note)


def open_note(page: Page, live: Any, note: Any) -> Page:
    page.goto(live("annotate", note.project.slug, note.pk))
    page.wait_for_selector("html[data-workbench=ready]")
    return page


def saved(page: Page) -> None:
    expect(page.locator("#save-state")).to_have_text("Saved")


def quotes(user: Any, note: Any) -> list[tuple[str, str]]:
    """(label, text) of a person's spans, from the database."""
    rows = Span.objects.filter(annotation_set__document=note, annotation_set__author__user=user)
    return [
        (label, note.text[start:end])
        for start, end, label in rows.order_by("start", "end", "label_id").values_list("start", "end", "label__name")
    ]


def painted(page: Page) -> list[tuple[str, str]]:
    """(label, text) of the spans on the page; the pieces of one span joined."""
    found = page.evaluate(
        """() => {
            const spans = new Map();
            for (const piece of document.querySelectorAll("#note .span")) {
                const span = spans.get(piece.dataset.span) ?? { label: "", text: [] };
                span.text.push(piece.textContent);
                span.label ||= piece.dataset.label ?? "";
                spans.set(piece.dataset.span, span);
            }
            return [...spans.values()].map(({label, text}) => [label, text.join("|")]);
        }"""
    )
    return [tuple(item) for item in found]


def place(page: Page, part: str, edge: str = "start", nth: int = 0) -> dict[str, float]:
    """Where a piece of the note's text lies on the screen."""
    return page.evaluate(
        """([part, edge, nth]) => {
            const walker = document.createTreeWalker(document.getElementById("note"), NodeFilter.SHOW_TEXT);
            const nodes = [];
            let all = "";
            for (let node = walker.nextNode(); node; node = walker.nextNode()) {
                if (!node.parentElement.closest(".line-text")) continue;
                nodes.push([all.length, node]);
                all += node.data;
            }
            let at = -1;
            for (let n = 0; n <= nth; n += 1) at = all.indexOf(part, at + 1);
            const offset = edge === "start" ? at : at + part.length - 1;
            const [from, node] = nodes.findLast(([begin]) => begin <= offset);
            const range = document.createRange();
            range.setStart(node, offset - from);
            range.setEnd(node, offset - from + 1);
            const box = range.getBoundingClientRect();
            const x = edge === "start" ? box.left + 1 : box.right - 1;
            return { x, y: box.top + box.height / 2 };
        }""",
        [part, edge, nth],
    )


def drag(page: Page, part: str, to: str | None = None) -> None:
    start, end = place(page, part), place(page, to or part, "end")
    page.mouse.move(start["x"], start["y"])
    page.mouse.down()
    page.mouse.move((start["x"] + end["x"]) / 2, (start["y"] + end["y"]) / 2)
    page.mouse.move(end["x"], end["y"])
    page.mouse.up()


def click_text(page: Page, part: str, **options: Any) -> None:
    at = place(page, part)
    page.mouse.click(at["x"] + 3, at["y"], **options)


def label_button(page: Page, name: str) -> Any:
    return page.locator("#side .wb-label", has=page.locator(f".name:text-is('{name}')"))


# ── By mouse ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_drag_snaps_to_words_and_the_palette_labels(opened: Page, world: SimpleNamespace) -> None:
    drag(opened, "ario Ros")
    opened.locator("#palette").get_by_role("button", name="PATIENT").click()
    expect(opened.locator("#note .span")).to_have_text("Mario Rossi")
    expect(opened.locator("#palette")).to_be_hidden()
    saved(opened)
    assert quotes(world.ann, world.note) == [("PATIENT", "Mario Rossi")]


def test_alt_takes_characters(opened: Page, world: SimpleNamespace) -> None:
    opened.keyboard.down("Alt")
    drag(opened, "ario Ros")
    opened.keyboard.up("Alt")
    opened.keyboard.press("1")
    saved(opened)
    [(_, quote)] = quotes(world.ann, world.note)
    assert quote in "Mario Rossi"
    assert quote != "Mario Rossi"


def test_double_click_takes_the_word(opened: Page, world: SimpleNamespace) -> None:
    at = place(opened, "Torino")
    opened.mouse.dblclick(at["x"] + 5, at["y"])
    opened.keyboard.press("c")
    saved(opened)
    assert quotes(world.ann, world.note) == [("CITY", "Torino")]


def test_a_double_click_on_a_label_makes_one_span(opened: Page, world: SimpleNamespace) -> None:
    drag(opened, "Torino")
    label_button(opened, "CITY").dblclick()
    saved(opened)
    assert quotes(world.ann, world.note) == [("CITY", "Torino")]
    assert Event.objects.filter(verb__startswith="span.").count() == 1
    assert opened.locator("#side [aria-pressed=true]").count() == 0


def test_an_armed_label_labels_at_once(opened: Page, world: SimpleNamespace) -> None:
    label_button(opened, "DATE").click()
    expect(label_button(opened, "DATE")).to_have_attribute("aria-pressed", "true")
    drag(opened, "12/03/2021")
    drag(opened, "20/03/2021")
    expect(opened.locator("#palette")).to_be_hidden()
    saved(opened)
    assert quotes(world.ann, world.note) == [("DATE", "12/03/2021"), ("DATE", "20/03/2021")]
    opened.keyboard.press("Escape")
    expect(label_button(opened, "DATE")).to_have_attribute("aria-pressed", "false")


def test_a_span_over_a_line_break_is_one_span(opened: Page, world: SimpleNamespace) -> None:
    drag(opened, "Torino", "Visto")
    opened.keyboard.press("h")
    saved(opened)
    assert quotes(world.ann, world.note) == [("HOSPITAL", "Torino.\r\n\r\nVisto")]
    assert painted(opened) == [("HOSPITAL", "Torino.|Visto")]


def test_click_selects_then_relabel_and_delete(opened: Page, world: SimpleNamespace) -> None:
    drag(opened, "Bianchi")
    opened.keyboard.press("1")
    opened.keyboard.press("Escape")
    click_text(opened, "Bianchi")
    expect(opened.locator("#selected")).to_contain_text("Bianchi")
    label_button(opened, "DOCTOR").click()
    expect(opened.locator("#note .span.is-selected")).to_have_attribute("data-label", "DOCTOR")
    saved(opened)
    assert quotes(world.ann, world.note) == [("DOCTOR", "Bianchi")]
    opened.get_by_role("button", name="Delete").click()
    expect(opened.locator("#note .span")).to_have_count(0)
    saved(opened)
    assert quotes(world.ann, world.note) == []


def test_clicking_again_goes_through_stacked_spans(opened: Page, world: SimpleNamespace) -> None:
    for part, key in (("Mario Rossi", "1"), ("Rossi", "2")):
        drag(opened, part)
        opened.keyboard.press(key)
    opened.keyboard.press("Escape")
    for name in ("DOCTOR", "PATIENT", "DOCTOR"):
        click_text(opened, "Rossi")
        expect(opened.locator("#selected .chip")).to_have_text(name)


# ── By keyboard alone ────────────────────────────────────────────────────────────────────────────────────────────────


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_the_whole_note_by_keys(opened: Page, world: SimpleNamespace) -> None:
    press(opened, "ArrowRight", "ArrowRight", "Shift+ArrowRight", "1")  # Mario Rossi
    press(opened, "ArrowRight", "ArrowRight")  # over the comma to 54
    press(opened, "Enter")
    expect(opened.locator("#palette button").first).to_be_focused()
    press(opened, "ArrowDown", "ArrowDown", "Enter")  # the third label
    expect(opened.locator("#palette")).to_be_hidden()
    expect(opened.locator("#note")).to_be_focused()
    saved(opened)
    assert quotes(world.ann, world.note) == [("PATIENT", "Mario Rossi"), ("DATE", "54")]
    press(opened, "Shift+Tab")
    expect(opened.locator("#note .is-selected")).to_have_text("Mario Rossi")
    press(opened, "2")
    press(opened, "Tab", "Delete")
    saved(opened)
    assert quotes(world.ann, world.note) == [("DOCTOR", "Mario Rossi")]
    press(opened, "Control+z")
    saved(opened)
    assert quotes(world.ann, world.note) == [("DOCTOR", "Mario Rossi"), ("DATE", "54")]
    press(opened, "Control+z")
    saved(opened)
    assert quotes(world.ann, world.note)[0] == ("PATIENT", "Mario Rossi")
    press(opened, "Control+Shift+z", "Control+y")
    saved(opened)
    assert quotes(world.ann, world.note) == [("DOCTOR", "Mario Rossi")]
    press(opened, "Escape", "Enter")
    opened.wait_for_url(f"**/notes/{world.notes[1].pk}/annotate/")
    assert AnnotationSet.objects.get().state == "submitted"


def test_resize_by_keys(opened: Page, world: SimpleNamespace) -> None:
    press(opened, "ArrowRight", "ArrowRight", "1")
    press(opened, "Shift+ArrowRight")
    saved(opened)
    assert quotes(world.ann, world.note) == [("PATIENT", "Mario Rossi")]
    press(opened, "Alt+ArrowRight")
    saved(opened)
    assert quotes(world.ann, world.note) == [("PATIENT", "Rossi")]
    press(opened, "Alt+ArrowLeft", "Alt+ArrowLeft", "Shift+ArrowLeft")
    saved(opened)
    assert quotes(world.ann, world.note) == [("PATIENT", "Paziente Mario")]
    assert Span.objects.count() == 1


def test_arrows_go_up_and_down(opened: Page, world: SimpleNamespace) -> None:
    press(opened, "ArrowRight", "ArrowDown")
    assert opened.evaluate("document.getSelection().toString()") == "Visto"
    press(opened, "ArrowUp")
    assert opened.evaluate("document.getSelection().toString()") == "Paziente"


def test_tab_leaves_after_the_last_span_and_escape_leaves_at_once(opened: Page) -> None:
    press(opened, "ArrowRight", "1", "Tab")
    assert opened.evaluate("document.activeElement.id") != "note"
    opened.locator("#note").focus()
    press(opened, "Escape", "Escape")
    assert opened.evaluate("document.activeElement.id") == "side"


def test_the_sheet_names_what_is_bound(opened: Page) -> None:
    press(opened, "?")
    sheet = opened.get_by_role("dialog", name="Keys")
    expect(sheet).to_be_visible()
    for words in ("Undo", "Ctrl+Z", "PATIENT", "Next note", "This list"):
        expect(sheet).to_contain_text(words)
    press(opened, "Escape")
    expect(sheet).to_be_hidden()


def test_n_and_p_go_to_the_neighbours(opened: Page, world: SimpleNamespace) -> None:
    press(opened, "n")
    opened.wait_for_url(f"**/notes/{world.notes[1].pk}/annotate/")
    opened.wait_for_selector("html[data-workbench=ready]")
    press(opened, "p")
    opened.wait_for_url(f"**/notes/{world.notes[0].pk}/annotate/")
