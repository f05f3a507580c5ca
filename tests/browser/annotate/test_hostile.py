"""The annotate page with hostile notes and names, and with texts whose offsets other tools miscount."""

import re
from typing import Any

from playwright.sync_api import Page, expect

from annotations.models import Comment, Document, Flag, Label, Span
from annotations.text.spans import tokenize
from tests import factories as make
from tests.browser.annotate.steps import open_note, press, saved, select_exactly
from tests.text.twins import snap

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


def test_hostile_note(transactional_db, page_of, live):
    project = make.make_project("hostile", HOSTILE_LABELS, name="<i>Progetto</i>")
    ann = make.make_member(project, user="ann")
    note = make.make_note(project, HOSTILE, '"><script>alert(4)</script>.txt', annotators=[ann])
    page = page_of(ann)
    alerts: list[str] = []
    page.on("dialog", lambda dialog: (alerts.append(dialog.message), dialog.dismiss()))
    open_note(page, live, note)
    assert page.evaluate("document.querySelector('#note').querySelectorAll('img, script, b').length") == 0
    wanted = [
        ("1", "👩‍👧‍👦"), ("2", "e\u0301"), ("3", "<script>"), ("1", "onerror"), ("2", "מרים כהן"), ("3", "محمد علي"),
        ("1", "123\u00a0fine"), ("2", "🇮🇹"), ("3", "😀😀"), ("1", "fine"),
    ]  # fmt: skip
    names = {"1": HOSTILE_LABELS[0][1][0][0], "2": HOSTILE_LABELS[0][1][1][0], "3": "שם"}
    expected = []
    for key, part in wanted:
        nth = 1 if part == "fine" else 0
        start = HOSTILE.index(part) if not nth else HOSTILE.rindex(part)
        expected.append((start, start + len(part), names[key]))
        select_exactly(page, part, nth)
        page.keyboard.press(key)
    saved(page)
    assert list(Span.objects.order_by("start").values_list("start", "end", "label__name")) == sorted(expected)
    # Drawn by the server and drawn by the browser: the same, to the last attribute.
    drawn = """() => [...document.querySelectorAll("#note .line-text")].map((line) =>
        [...line.querySelectorAll(".span")].map((s) => [s.textContent, s.className.replace(" is-selected", ""),
            s.getAttribute("aria-label"), s.dataset.label ?? null]))"""
    by_browser = page.evaluate(drawn)
    text = page.evaluate("[...document.querySelectorAll('#note .line-text')].map((line) => line.textContent)")
    open_note(page, live, note)
    assert page.evaluate(drawn) == by_browser
    assert page.evaluate("[...document.querySelectorAll('#note .line-text')].map((line) => line.textContent)") == text
    assert alerts == []


MARKUP = "<img src=x onerror=\"document.title='broken'\"><b>{{ x }}</b>"
GUIDELINES = (
    f"# {MARKUP}\n\n{MARKUP}\n\n<script>document.title='broken'</script> [a](javascript:document.title='broken')\n"
)


def test_hostile_words_around_the_note(transactional_db, page_of, live):
    """Names, descriptions, guidelines, comments, flags and searches: shown as they are, in every part of the page."""
    labels = [(MARKUP, [(f"one {MARKUP}"[:60], "1"), ("two", "2")])]
    project = make.make_project("hostile", labels, name=MARKUP, guidelines=GUIDELINES, guidelines_version=1)
    Label.objects.filter(name__startswith="one").update(description=MARKUP)
    ann = make.make_member(project, user=make.make_user("ann", first_name=MARKUP, last_name="x"))
    notes = [
        make.make_note(project, f"Mario {MARKUP} Rossi", f"{MARKUP} {number}.txt", annotators=[ann]) for number in "12"
    ]
    for about in ({}, {"start": 0, "end": 5}):
        Comment.objects.create(document=notes[0], annotator=ann, author=ann, text=f"said {MARKUP}", **about)
    Flag.objects.create(document=notes[0], user=ann, reason="other", text=MARKUP)
    page = page_of(ann)
    open_note(page, live, notes[0])
    title = page.title()
    expect(page.locator("#threads .said")).to_have_text([f"said {MARKUP}"] * 2)
    expect(page.locator("#note-name")).to_have_accessible_name(f"{MARKUP} 1.txt")
    press(page, "ArrowRight", "1")
    expect(page.locator("#selected .chip")).to_contain_text(MARKUP[:40])
    press(page, "g")
    expect(page.locator("#guide-label .said")).to_have_text(MARKUP)
    guide = page.locator("#guide-body")
    expect(guide.locator("h1, h2, h3").first).to_have_text(MARKUP)
    expect(guide).to_contain_text("<script>document.title='broken'</script>")
    assert guide.locator("a[href^='javascript:']").count() == 0
    press(page, "Escape", "Escape", "/")
    page.locator("#find-text").fill(MARKUP)
    expect(page.locator("#find-count")).to_have_text(re.compile("1"))
    press(page, "Escape", "Escape", "m")
    page.locator("#comment-text").fill(MARKUP)
    press(page, "Control+Enter")
    expect(page.locator("#threads .said")).to_have_count(3)
    press(page, "?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text(MARKUP[:40])
    press(page, "Escape", "f")
    expect(page.locator("#flag-text")).to_have_value(MARKUP)
    assert page.evaluate("document.querySelectorAll('img, body b, [onerror]').length") == 0
    assert page.title() == title
    page.keyboard.press("Escape")
    saved(page)
    press(page, "n")
    expect(page.locator("#note-name")).to_have_accessible_name(f"{MARKUP} 2.txt")
    assert page.evaluate("document.querySelectorAll('img, body b, [onerror]').length") == 0
    # Long ones are read to the end on a phone, and leave room for the way back.
    Document.objects.filter(pk=notes[1].pk).update(name="W" * 200)
    page.set_viewport_size({"width": 390, "height": 780})
    page.goto(live("notes", "hostile"))
    name = page.get_by_role("link", name="WWW")
    right = """e => {
        const range = document.createRange();
        range.selectNodeContents(e);
        return range.getBoundingClientRect().right;
    }"""
    box = page.locator("#notes .table-box").bounding_box()
    assert box and name.evaluate(right) <= box["x"] + box["width"]
    name.click()
    way = page.locator(".nav-button summary").bounding_box()
    assert way and way["width"] > 20 and way["x"] + way["width"] <= 390


# ── Texts whose offsets other tools miscount: mouse and keys select what is visible, and that reaches the database ──


# Each with a stretch to drag over. `|` stands where the mouse goes down and where it is let go.
DRAGGED = [
    "\n",  # a note that begins with a line break
    "\ufeff\tPaziente |Ma|rio\u00a0Rossi\r\n",
    "famiglia 👨\u200d👩\u200d👧\u200d👦 di |Anna 😀| Bianchi\r\n",
    "|👨\u200d👩\u200d👧\u200d👦| e poi 👍🏽👍🏽\n",
    "Jose\u0301 |Pe\u0301re|z, nato a Co\u0302te\r",
    "\tcol\t|12/03/|2021\tTorino\r\n",
    "د. |محمد علي| في المستشفى\n",
    "המטופל |דוד כהן| בן 54\r\n",
    "mixed דוד |12| and |\r\n",
    "\r\n",
    "caso\u2028A\u0085B\u200b |C d|\u3000fine 🇮🇹🇮🇹 12\u00a0mg",
]

# Return where the mouse must press and release to select a stretch (UTF-16 units of its line): before its first and
# after its last character, in writing direction. Scroll there first.
WHERE = """([line, start, end]) => {
    const root = document.querySelector(`#note .line-text[data-start="${line}"]`);
    const nodes = [];
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    let length = 0;
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        nodes.push([length, node]);
        length += node.length;
    }
    const box = (from, to) => {
        const range = document.createRange();
        for (const [at, set] of [[from, "setStart"], [to, "setEnd"]]) {
            const [begin, node] = nodes.findLast(([begin]) => (set === "setStart" ? begin <= at : begin < at));
            range[set](node, at - begin);
        }
        return range.getBoundingClientRect();
    };
    const text = root.textContent;
    const parts = [...new Intl.Segmenter("und", { granularity: "grapheme" }).segment(text)];
    const part = (unit) => parts.findLast(({ index }) => index <= unit);
    const first = part(start);
    const last = part(end - 1);
    const backwards = (segment) => /[\\u0590-\\u08ff]/.test(segment.segment);
    const edge = (segment, after) => {
        const found = box(segment.index, segment.index + segment.segment.length);
        return { x: after === backwards(segment) ? found.left + 1 : found.right - 1, y: found.top + found.height / 2 };
    };
    const scroller = document.getElementById("scroll");
    scroller.scrollTop += box(start, start + 1).top - scroller.getBoundingClientRect().top - 200;
    return [edge(first, false), edge(last, true)];
}"""


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def ends(page: Page, text: str, start: int, end: int) -> list[dict[str, float]]:
    """Where to press and release the mouse to select text[start:end] of one line."""
    line = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    return list(page.evaluate(WHERE, [line, units(text[line:start]), units(text[line:end])]))


def drag_over(page: Page, text: str, start: int, end: int) -> None:
    """With the real mouse."""
    points = ends(page, text, start, end)
    page.mouse.move(**points[0])
    page.mouse.down()
    page.mouse.move((points[0]["x"] + points[1]["x"]) / 2, points[1]["y"])
    page.mouse.move(**points[1])
    page.mouse.up()


def labeled_bounds(walk: Any) -> list[tuple[int, int, str]]:
    return sorted(Span.objects.filter(annotation_set__document=walk.note).values_list("start", "end", "label__name"))


def selects(page: Page, wanted: str) -> None:
    """Wait for the selection: the browser updates its own selection first, then the page."""
    page.wait_for_function("wanted => document.getSelection().toString() === wanted", arg=wanted)


def test_the_mouse_takes_what_is_seen(walk_over):
    text, stretches = "", []
    for line in DRAGGED:
        before, *rest = line.split("|")
        if rest:
            stretches.append((len(text + before), len(text + before + rest[0])))
        text += line.replace("|", "")
    letters = "Sexo: H.\nd. m, محمد\nد. محمد\n"
    walk = walk_over(text, letters)
    page = walk.page
    shown = page.evaluate("[...document.querySelectorAll('#note .line-text')].map((line) => line.textContent)")
    assert shown == text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    tokens, expected = tokenize(text), []
    for start, end in stretches:
        wanted = snap(tokens, start, end)
        assert wanted is not None
        drag_over(page, text, start, end)
        selects(page, text[slice(*wanted)])
        press(page, "1")
        expected.append((*wanted, "PATIENT"))
    # By characters: no more and no less than was dragged over.
    for start, end in stretches:
        page.keyboard.down("Alt")
        drag_over(page, text, start, end)
        page.keyboard.up("Alt")
        selects(page, text[start:end])
        press(page, "2")
        expected.append((start, end, "DOCTOR"))
    saved(page)
    assert labeled_bounds(walk) == sorted(expected)
    # A double click at the edge of a letter takes it.
    walk.go_on()
    edges = [letters.index(part) for part in ("H.", "m,", "د.")]
    for at in edges:
        _, after = ends(page, letters, at, at + 1)
        page.mouse.dblclick(**after)
        selects(page, letters[at])
        press(page, "1")
    saved(page)
    assert labeled_bounds(walk) == [(at, at + 1, "PATIENT") for at in edges]
