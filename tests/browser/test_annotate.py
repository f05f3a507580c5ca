"""The annotate page in Chromium, by mouse and by keyboard."""

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.models import AnnotationSet, Event, Span
from tests import factories as make
from tests.browser.conftest import session_cookie

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


# ── Saving ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_reload_keeps_spans_and_undo(opened: Page, world: SimpleNamespace) -> None:
    press(opened, "ArrowRight", "ArrowRight", "1", "ArrowRight", "2")
    saved(opened)
    before = painted(opened)
    opened.reload()
    opened.wait_for_selector("html[data-workbench=ready]")
    assert painted(opened) == before == [("PATIENT", "Mario"), ("DOCTOR", "Rossi")]
    press(opened, "Control+z")
    expect(opened.locator("#note .span")).to_have_count(1)
    press(opened, "Control+z")
    expect(opened.locator("#note .span")).to_have_count(0)
    press(opened, "Control+y", "Control+y")
    expect(opened.locator("#note .span")).to_have_count(2)
    saved(opened)
    assert quotes(world.ann, world.note) == [("PATIENT", "Mario"), ("DOCTOR", "Rossi")]


def test_offline_work_is_kept_and_sent_in_order(opened: Page, world: SimpleNamespace) -> None:
    opened.context.set_offline(True)
    press(opened, "ArrowRight", "ArrowRight", "1")
    expect(opened.locator("#save-state")).to_have_text("Offline, 1 waiting")
    press(opened, "2", "ArrowRight", "c", "Delete", "ArrowRight", "ArrowRight", "d")
    press(opened, "Control+z", "Control+Shift+z")
    expect(opened.locator("#save-state")).to_have_text("Offline, 7 waiting")
    assert painted(opened) == [("DOCTOR", "Mario"), ("DATE", "54")]
    assert Span.objects.count() == 0
    opened.context.set_offline(False)
    saved(opened)
    assert quotes(world.ann, world.note) == [("DOCTOR", "Mario"), ("DATE", "54")] == painted(opened)
    assert Event.objects.filter(verb__startswith="span.").count() == 7


def test_a_lost_answer_doubles_nothing(opened: Page, world: SimpleNamespace) -> None:
    lost = []

    def lose_once(route: Any) -> None:
        if lost:
            route.continue_()
            return
        lost.append(route.fetch().status)  # the server did it, but the page never hears
        route.abort()

    opened.route("**/changes", lose_once)
    press(opened, "ArrowRight", "1")
    expect(opened.locator("#save-state")).to_have_text("Offline, 1 waiting")
    saved(opened)
    assert lost == [200]
    assert quotes(world.ann, world.note) == [("PATIENT", "Paziente")] == painted(opened)
    expect(opened.locator("#told")).not_to_contain_text("another tab")


def test_leaving_unsaved_work_warns(opened: Page) -> None:
    opened.context.set_offline(True)
    press(opened, "ArrowRight", "1")
    expect(opened.locator("#save-state")).to_contain_text("Offline")
    asked = []
    opened.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    opened.close(run_before_unload=True)
    opened.wait_for_timeout(300)
    assert asked == ["beforeunload"]
    opened.context.set_offline(False)
    saved(opened)


def test_signed_out_work_waits_for_signing_in_again(
    opened: Page, world: SimpleNamespace, live: Any, live_server: Any
) -> None:
    cookie = opened.context.cookies()[0]
    opened.context.clear_cookies()
    press(opened, "ArrowRight", "1")
    expect(opened.locator("#save-state")).to_have_text("Signed out, 1 waiting")
    expect(opened.locator("#told")).to_contain_text("sign in again in another tab")
    # Somebody else signs in first: nothing of ann's may become theirs.
    opened.context.add_cookies([session_cookie(world.ben, live_server.url)])
    opened.evaluate("window.dispatchEvent(new Event('online'))")
    expect(opened.locator("#save-state")).to_have_text("Another person is signed in, 1 waiting")
    assert Span.objects.count() == 0
    opened.context.add_cookies([session_cookie(world.ann, live_server.url)])
    opened.evaluate("window.dispatchEvent(new Event('online'))")
    saved(opened)
    assert quotes(world.ann, world.note) == [("PATIENT", "Paziente")]
    assert cookie["value"]


def test_two_tabs_tell_each_other(opened: Page, world: SimpleNamespace, page_of: Any, live: Any) -> None:
    other = open_note(page_of(beside=opened), live, world.note)
    press(opened, "ArrowRight", "1")
    saved(opened)
    press(other, "ArrowRight", "ArrowRight", "2")
    saved(other)
    expect(other.locator("#told")).to_contain_text("1 span added")
    assert painted(other) == [("PATIENT", "Paziente"), ("DOCTOR", "Mario")]
    opened.bring_to_front()
    opened.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(opened.locator("#told")).to_contain_text("1 span added")
    # The same span from both at once.
    for page in (opened, other):
        press(page, "ArrowRight", "c")
    saved(opened)
    saved(other)
    assert quotes(world.ann, world.note).count(("CITY", "Rossi")) <= 1


def test_a_stale_tab_overwrites_nothing(opened: Page, world: SimpleNamespace, page_of: Any, live: Any) -> None:
    press(opened, "ArrowRight", "1")
    saved(opened)
    other = open_note(page_of(beside=opened), live, world.note)
    press(other, "Tab", "2")
    saved(other)
    press(opened, "d")  # still selected there, still PATIENT there
    expect(opened.locator("#told")).to_contain_text("nothing was overwritten")
    assert quotes(world.ann, world.note) == [("DOCTOR", "Paziente")] == painted(opened)


def test_submitted_elsewhere(opened: Page, world: SimpleNamespace, page_of: Any, live: Any) -> None:
    other = open_note(page_of(beside=opened), live, world.note)
    other.get_by_role("button", name="Submit").click()
    other.wait_for_url(f"**/notes/{world.notes[1].pk}/annotate/")
    press(opened, "ArrowRight", "1")
    expect(opened.locator("#told")).to_contain_text("submitted")
    assert painted(opened) == []
    opened.get_by_role("button", name="Reopen to change it").click()
    opened.wait_for_selector("#workbench[data-state=draft]")
    opened.wait_for_selector("html[data-workbench=ready]")
    press(opened, "ArrowRight", "1")
    saved(opened)
    assert quotes(world.ann, world.note) == [("PATIENT", "Paziente")]


def test_a_double_click_on_submit_submits_once(opened: Page, world: SimpleNamespace) -> None:
    opened.get_by_role("button", name="Submit").dblclick()
    opened.wait_for_url(f"**/notes/{world.notes[1].pk}/annotate/")
    assert Event.objects.filter(verb="set.submitted").count() == 1
    assert world.ann.assignments.get(document=world.notes[1]).state == "open"


def test_submit_then_next_until_nothing_is_left(opened: Page, world: SimpleNamespace, page_of: Any) -> None:
    for number in (1, 2):
        press(opened, "ArrowRight", "1", "Enter")
        opened.wait_for_url(f"**/notes/{world.notes[number].pk}/annotate/")
        opened.wait_for_selector("html[data-workbench=ready]")
    press(opened, "Enter")
    expect(opened.get_by_role("heading", name="All your notes are done")).to_be_visible()
    assert AnnotationSet.objects.filter(state="submitted").count() == 3
    assert not world.ann.assignments.filter(state="open").exists()


# ── Hostile notes ────────────────────────────────────────────────────────────────────────────────────────────────────

HOSTILE = (
    "\n\ufeffInizio 👩‍👧‍👦 e\u0301 <script>alert(1)</script>\r\n"
    "</div><img src=x onerror=alert(2)> &amp; &#13; ]]>\r"
    "\tמרים כהן ו-محمد علي 123\u00a0fine\r\n\r\n"
    "🇮🇹\u200bétà\x0bA\x0cB\u2028C\u0085D 😀😀 " + "lunga riga " * 40 + "fine"
)
HOSTILE_LABELS = [
    ("<b>cat</b>", [("<img src=x onerror=alert(3)>", "1"), ("\"ETÀ\" & 'co'", "2")]),
    ("ok", [("שם", "3")]),
]


def test_hostile_note(transactional_db: None, page_of: Any, live: Any, axe: Any) -> None:
    project = make.make_project("hostile", HOSTILE_LABELS, name="<i>Progetto</i>")
    ann = make.make_member(project, user="ann")
    note = make.make_note(project, HOSTILE, '"><script>alert(4)</script>.txt', readers=[ann])
    page = page_of(ann)
    alerts: list[str] = []
    page.on("dialog", lambda dialog: (alerts.append(dialog.message), dialog.dismiss()))
    open_note(page, live, note)
    assert page.evaluate("document.querySelector('#note').querySelectorAll('img, script, b').length") == 0
    wanted = [
        ("1", "👩‍👧‍👦"),
        ("2", "e\u0301"),
        ("3", "<script>"),
        ("1", "onerror"),
        ("2", "מרים כהן"),
        ("3", "محمد علي"),
        ("1", "123\u00a0fine"),
        ("2", "🇮🇹"),
        ("3", "😀😀"),
        ("1", "fine"),
    ]
    names = {"1": HOSTILE_LABELS[0][1][0][0], "2": HOSTILE_LABELS[0][1][1][0], "3": "שם"}
    places = []
    for key, part in wanted:
        nth = 1 if part == "fine" else 0
        start = HOSTILE.index(part) if not nth else HOSTILE.rindex(part)
        places.append((start, start + len(part), names[key]))
        select_exactly(page, part, nth)
        page.keyboard.press(key)
    saved(page)
    rows = Span.objects.order_by("start").values_list("start", "end", "label__name")
    assert list(rows) == sorted(places)
    # Drawn by the server and drawn by the browser: the same, to the last attribute.
    drawn = """() => [...document.querySelectorAll("#note .line-text")].map((line) =>
        [...line.querySelectorAll(".span")].map((s) => [s.textContent, s.className.replace(" is-selected", ""),
            s.getAttribute("aria-label"), s.dataset.label ?? null]))"""
    by_browser = page.evaluate(drawn)
    text = page.evaluate("[...document.querySelectorAll('#note .line-text')].map((line) => line.textContent)")
    open_note(page, live, note)
    assert page.evaluate(drawn) == by_browser
    assert page.evaluate("[...document.querySelectorAll('#note .line-text')].map((line) => line.textContent)") == text
    assert axe(page) == []
    assert alerts == []


def select_exactly(page: Page, part: str, nth: int) -> None:
    """Select as a mouse would, in any writing direction: by the browser's own selection, then the button let go."""
    page.evaluate(
        """([part, nth]) => {
            const note = document.getElementById("note");
            const walker = document.createTreeWalker(note, NodeFilter.SHOW_TEXT);
            const nodes = [];
            let all = "";
            for (let node = walker.nextNode(); node; node = walker.nextNode()) {
                if (!node.parentElement.closest(".line-text")) continue;
                nodes.push([all.length, node]);
                all += node.data;
            }
            const at = nth ? all.lastIndexOf(part) : all.indexOf(part);
            const point = (offset, back) => {
                const [from, node] = nodes.findLast(([begin]) => (back ? begin < offset : begin <= offset));
                return [node, offset - from];
            };
            document.getSelection().setBaseAndExtent(...point(at, false), ...point(at + part.length, true));
            const options = { bubbles: true, button: 0, pointerType: "mouse", altKey: true };
            note.dispatchEvent(new PointerEvent("pointerdown", options));
            note.dispatchEvent(new PointerEvent("pointerup", options));
        }""",
        [part, nth],
    )


# ── For everybody ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("width", [1440, 1024, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_for_axe_to_find(
    world: SimpleNamespace, page_of: Any, live: Any, axe: Any, width: int, scheme: str
) -> None:
    page = page_of(world.ann, viewport={"width": width, "height": 844}, color_scheme=scheme)
    open_note(page, live, world.note)
    press(page, "ArrowRight", "ArrowRight", "Shift+ArrowRight", "1")
    press(page, "ArrowRight", "Shift+ArrowRight", "d", "ArrowRight")
    press(page, "Enter")
    assert axe(page) == []
    press(page, "Escape", "Escape", "?")
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_labelling_by_finger(world: SimpleNamespace, page_of: Any, live: Any) -> None:
    page = page_of(world.ann, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    open_note(page, live, world.note)
    at = place(page, "Torino")
    page.touchscreen.tap(at["x"] + 3, at["y"])
    page.evaluate("document.getSelection().modify('extend', 'forward', 'word')")
    expect(page.locator("#palette")).to_be_visible()
    page.locator("#palette").get_by_role("button", name="CITY").tap()
    expect(page.locator("#note .span")).to_have_count(1)
    saved(page)
    assert quotes(world.ann, world.note)[0][0] == "CITY"
