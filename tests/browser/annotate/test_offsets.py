"""Texts whose offsets other tools miscount: mouse and keys select what is visible, and that reaches the database."""

import re
import unicodedata
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.models import Span
from annotations.text.tokens import tokenize
from tests.browser.annotate.steps import press, saved
from tests.text.twins import snap

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
# Tokens of their own, but parts of one picture: the cursor takes them together.
PICTURES = re.compile("👨\u200d👩\u200d👧\u200d👦|👍🏽|🇮🇹")

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
    rows = Span.objects.filter(annotation_set__document=walk.note)
    return sorted(rows.values_list("start", "end", "label__name"))


def selected(page: Page) -> str:
    return str(page.evaluate("document.getSelection().toString()"))


def selects(page: Page, wanted: str) -> None:
    """Wait for the selection: the browser updates its own selection first, then the page."""
    page.wait_for_function("wanted => document.getSelection().toString() === wanted", arg=wanted)


def runs_left(text: str, offset: int) -> bool:
    """Whether the line at an offset runs from right to left: its first letter does."""
    line = text[max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1 :].splitlines()[0]
    letter = next((character for character in line if character.isalpha()), "a")
    return unicodedata.bidirectional(letter) in ("R", "AL")


def test_the_mouse_takes_what_is_seen(walk_over: Any) -> None:
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


def stops(text: str) -> list[tuple[int, int]]:
    """The stops of the cursor: tokens, and emoji sequences as a whole."""
    pictures = [found.span() for found in PICTURES.finditer(text)]
    others = [(token.start, token.end) for token in tokenize(text)]
    return sorted(pictures + [token for token in others if not any(a <= token[0] < b for a, b in pictures)])


@pytest.mark.nightly
def test_the_keys_take_every_token_in_turn(walk_over: Any) -> None:
    text = "".join(DRAGGED).replace("|", "")
    tokens = stops(text)
    walk = walk_over(text)
    page = walk.page
    here = 0
    for number, (start, end) in enumerate(tokens):
        press(page, "ArrowLeft" if runs_left(text, here) else "ArrowRight")  # onwards, as it is seen
        here = start
        selects(page, text[start:end])
        if number % 2:
            press(page, "d")
    saved(page)
    assert labeled_bounds(walk) == [(*token, "DATE") for token in tokens[1::2]]
    # Text selected by keys across labeled spans.
    press(page, "Escape", "ArrowLeft", *["Shift+ArrowLeft"] * 3)
    stretch = selected(page)
    press(page, "h")
    saved(page)
    [(start, end)] = [(start, end) for start, end, label in labeled_bounds(walk) if label == "HOSPITAL"]
    assert text[start:end] == stretch
    assert len([token for token in tokens if start <= token[0] < end]) == 4


@pytest.mark.nightly
def test_a_line_of_20_000_characters(walk_over: Any) -> None:
    text = "Línea 😀 larga דוד 12 " * 960 + "doctor Ángel Ruiz, fin."
    assert len(text) > 20_000
    assert "\n" not in text
    start = text.index("Ángel")
    walk = walk_over(text)
    page = walk.page
    drag_over(page, text, start + 1, start + 7)
    press(page, "2")
    expect(page.locator("#note .span")).to_have_text("Ángel Ruiz")
    press(page, "ArrowRight", "ArrowRight", "c")
    middle = text.index("larga", 10_000)
    drag_over(page, text, middle, middle + 9)
    press(page, "1", "Shift+ArrowRight")
    saved(page)
    stretch = text.index("12", middle)
    assert labeled_bounds(walk) == [
        (middle, stretch + 2, "PATIENT"),
        (start, start + 10, "DOCTOR"),
        (start + 12, start + 15, "CITY"),
    ]
