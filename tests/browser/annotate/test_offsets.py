"""Texts whose offsets other tools miscount: mouse and keys select what is visible, and that reaches the database."""

from typing import Any

from playwright.sync_api import Page

from annotations.models import Span
from annotations.text.spans import tokenize
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
