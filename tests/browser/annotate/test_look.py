"""Measurable layout of the annotate page, and the page for a screen reader and on paper."""

import re
from types import SimpleNamespace
from typing import Any

from playwright.sync_api import Page, expect

from annotations.models import Label
from tests import factories as make
from tests.browser.annotate.steps import open_note, press
from tests.browser.widths import chrome_faults


def box(page: Page, selector: str) -> dict[str, float]:
    found = page.locator(selector).first.bounding_box()
    assert found is not None
    return dict(found)


def test_columns_at_every_width(world, page_of, live):
    """Notes, text and labels are side by side where there is room, else stacked; the list of notes folds."""
    page = page_of(world.ann)
    items, guide, summary = (page.locator(where) for where in ("#notes-items", "#guide", "#notes-list summary"))
    name = page.locator("#note-name")
    for width in (1440, 1380, 1024, 390):
        page.set_viewport_size({"width": width, "height": 844})
        open_note(page, live, world.note)
        notes, text, side = (box(page, selector) for selector in ("#notes", ".wb-middle", "#side"))
        if width == 1440:
            assert notes["x"] + notes["width"] <= text["x"]
            summary.click()
            expect(items).to_be_hidden()
            assert box(page, "#notes")["width"] < 60
            assert box(page, ".wb-middle")["width"] > text["width"] + 100
        elif width != 1380:
            # The list of notes, folded, is in the row of the note's name, before it.
            assert notes["x"] + notes["width"] <= box(page, "#note-name")["x"]
            assert notes["y"] + notes["height"] <= box(page, "#scroll")["y"]
            expect(items).to_be_hidden()
        if width > 390:
            assert text["x"] + text["width"] <= side["x"]
            assert text["width"] > side["width"]
        else:
            assert text["y"] + text["height"] <= side["y"]
        # The links to the next and previous note stay visible without the list of notes.
        page.evaluate("window.stayed = true")
        page.locator("#next-note").click()
        expect(name).to_have_text(world.notes[1].name)
        page.locator("#previous-note").click()
        expect(name).to_have_text(world.note.name)
        assert page.evaluate("window.stayed")
        if width == 390:  # there the guidelines cover the page
            continue
        # Where there is no room for list and guidelines, opening the list closes the guidelines.
        for is_folded in (False, True):
            if items.is_visible() == is_folded:
                summary.click()
            press(page, "g")
            expect(guide).to_be_visible()
            if width == 1440 and not is_folded:
                expect(items).to_be_visible()
                summary.click()
                expect(items).to_be_hidden()
            else:
                expect(items).to_be_hidden()
                summary.click()
                expect(items).to_be_visible()
            expect(guide).to_be_visible(visible=width == 1440)
            if width == 1440:
                page.locator("#guide-close").click()
                page.locator("#note").focus()
    # The foot of a note that was handed in is one row on a phone.
    make.make_set(world.notes[1], world.ann, submitted=True)
    open_note(page, live, world.notes[1])
    assert box(page, ".wb-foot")["height"] < 60
    for where in ("#previous-note", "#next-note", "#reopen", "#next-open"):
        expect(page.locator(where)).to_be_in_viewport(ratio=1)


def test_small_windows(opened):
    """Keys and buttons for the selected word are in view, and the menu and the list of notes open over the text."""
    press(opened, "ArrowRight", "Tab", "Tab")
    assert chrome_faults(opened, "#selected .btn", "#side .wb-labels", "#submit", "#next-note") == []
    opened.set_viewport_size({"width": 720, "height": 450})
    opened.locator("#undo").hover()
    expect(opened.locator("#undo")).to_have_attribute("title", "Undo")
    for summary, shown in ((".nav-button > summary", ".project-nav"), ("#notes-list > summary", "#notes-items")):
        opened.locator(summary).press("Enter")
        expect(opened.locator(shown)).to_be_in_viewport()
        opened.locator(summary).click()
        expect(opened.locator(shown)).to_be_hidden()


def test_the_text(walk_over):
    """White space as it is; each line with its number; at most 90 characters wide, and wrapped, whatever they are."""
    long = "Mario Rossi torna.\n" * 300
    walk = walk_over("\tcol  umn   Rossi\r\n\r\n" + "parola " * 60 + "\r\n" + "x" * 900, long)
    page = walk.page
    page.set_viewport_size({"width": 2200, "height": 900})
    assert page.locator(".line-text").first.inner_text() == "\tcol  umn   Rossi"
    assert page.locator(".gutter").all_inner_texts() == ["1", "2", "3", "4"]
    character = page.locator("#note").evaluate("""note => {
        const probe = document.createElement("span");
        probe.style.cssText = "position: absolute; width: 90ch; font: inherit";
        note.append(probe);
        const { width } = probe.getBoundingClientRect();
        probe.remove();
        return width;
    }""")
    for line in range(4):
        found = (
            page.locator(".line-text")
            .nth(line)
            .evaluate("node => [node.clientWidth, node.scrollWidth, node.clientHeight]")
        )
        assert found[1] <= found[0] <= character + 1
        assert (found[2] > 40) == (line >= 2)
    # What is selected is on the screen.
    page.set_viewport_size({"width": 1440, "height": 900})
    last = long.rindex("Rossi")
    make.make_set(walk.go_on(), walk.ann, [(0, 5, "PATIENT"), (last, last + 5, "PATIENT")], version=1)
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(page.locator("#note .span")).to_have_count(2)
    press(page, "Tab", "Tab")
    expect(page.locator("#note .is-selected")).to_be_in_viewport()
    expect(page.locator("#said")).to_have_text("PATIENT: Rossi, 2 of 2")
    press(page, "Escape", "Control+Home")
    expect(page.locator("#L1")).to_be_in_viewport()
    press(page, *["ArrowDown"] * 40)
    expect(page.locator("#L41")).to_be_in_viewport()
    # Screen readers get the note's name and each span with its label.
    expect(page.locator("#said")).to_have_text("Mario")
    first = page.locator("#note .span").first
    expect(first).to_have_role("group")
    expect(first).to_have_accessible_name("PATIENT")
    expect(page.locator("#note")).to_have_accessible_name(re.compile("^Text of"))


LONG = "RELATIVE_OR_CONTACT_PERSON"
PLACE = """function () {
    const { left, right } = this.getClientRects()[0];
    return [this.matches(":dir(rtl)"), left, right];
}"""


def chips(page: Page) -> list[tuple[bool, float, float, float, float]]:
    """For each span: whether its line runs from right to left, then left and right edge of its text and of its chip."""
    session = page.context.new_cdp_session(page)
    found, waiting = [], [session.send("DOM.getDocument", {"depth": -1})["root"]]
    while waiting:
        node = waiting.pop()
        waiting += node.get("children", [])
        if "data-label" in node.get("attributes", []):
            drawn = session.send("DOM.getBoxModel", {"nodeId": node["pseudoElements"][0]["nodeId"]})["model"]["border"]
            resolved = session.send("DOM.resolveNode", {"nodeId": node["nodeId"]})["object"]["objectId"]
            asked = {"objectId": resolved, "functionDeclaration": PLACE, "returnByValue": True}
            found.append((*session.send("Runtime.callFunctionOn", asked)["result"]["value"], drawn[0], drawn[2]))
    return found


def test_a_chip_begins_over_its_span_and_stays_in_the_text(world, page_of, live):
    """At both edges of a narrow text, with a long name, from right to left, and where one span follows another."""
    Label.objects.filter(pk=make.label_of(world.project, "CITY").pk).update(name=LONG)
    text = "Rossi A 5 " + "parola " * 20 + "\nרבקה כהן, בת 54"
    words = [(*word.span(), "DATE" if word[0] == "A" else LONG) for word in re.finditer(r"\w+", text)]
    note = make.make_note(world.project, text, "chips", annotators=[world.ann])
    make.make_set(note, world.ann, words)
    page = page_of(world.ann)
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 844})
        open_note(page, live, note)
        edges, found = box(page, "#scroll"), chips(page)
        assert len(found) == len(words)
        for is_left, left, right, chip_left, chip_right in found:
            assert abs(chip_right - right if is_left else chip_left - left) < 1
            assert edges["x"] <= chip_left < chip_right <= edges["x"] + edges["width"]


# ── The annotate page for a screen reader, and on paper. tests/browser/test_axe.py has more ──


def test_a_screen_reader_hears_a_label_once_and_paper_has_the_whole_note(opened, world, live):
    press(opened, "ArrowRight", "ArrowRight", "Shift+ArrowRight", "1")
    expect(opened.locator("#note .span")).to_have_attribute("data-label", "PATIENT")
    tree = opened.context.new_cdp_session(opened).send("Accessibility.getFullAXTree")["nodes"]
    named = {node["nodeId"]: node for node in tree}

    def inside(node: Any) -> list[str]:
        own = [] if node["ignored"] else [node.get("name", {}).get("value", "")]
        return own + [name for child in node["childIds"] if child in named for name in inside(named[child])]

    (note,) = (node for node in tree if node.get("name", {}).get("value", "").startswith("Text of"))
    names = inside(note)
    assert "PATIENT" in names and "Mario Rossi" in names
    assert sum("PATIENT" in name for name in names) == 1
    # On paper the whole note is there, and nothing but it.
    note = make.make_note(world.project, "Paziente Mario Rossi\r\n" * 120, "long", annotators=[world.ann])
    make.make_set(note, world.ann, [(9, 20, "PATIENT")])
    open_note(opened, live, note)
    opened.emulate_media(media="print")
    height = "document.documentElement.scrollHeight"
    last = opened.locator(".line").last
    assert (
        opened.evaluate(height) >= last.evaluate("line => line.getBoundingClientRect().bottom + window.scrollY") > 2000
    )
    assert opened.locator("#scroll").evaluate("each => each.scrollHeight - each.clientHeight") <= 1
    for part in ("#note-name", "#note .span"):
        expect(opened.locator(part)).to_be_visible()
    for part in (".site-head", "#notes", "#side", "#submit-form", "#show-find", "#save-state"):
        expect(opened.locator(part)).to_be_hidden()


def test_without_scripts_the_note_can_be_read_and_handed_in(world: SimpleNamespace, page_of: Any, live: Any) -> None:
    page = page_of(world.ann, java_script_enabled=False)
    response = page.goto(live("annotate", "covid", world.note.pk))
    expect(page.locator("#note")).to_contain_text("Mario Rossi, 54 anni")
    # Playwright's selectors ignore the text of noscript elements.
    assert response is not None and re.search(r"<noscript>.*Marking spans needs JavaScript", response.text())
    page.get_by_role("button", name="Submit").click()
    expect(page.locator("#note-name")).to_have_text(world.notes[1].name)
    page.get_by_role("link", name="Previous").click()
    expect(page.get_by_text("Submitted", exact=True)).to_be_visible()
