"""Acts and checks on the annotate page, used by all tests of that page."""

from typing import Any

from playwright.sync_api import Page, Route, expect

from annotations.models import Span
from tests.waiting import wait_for

TEXT = (
    "Paziente Mario Rossi, 54 anni, ricoverato il 12/03/2021 a Torino.\r\n"
    "\r\n"
    "Visto dal dott. Bianchi; controllo il 20/03/2021.\r\n"
    "Torna a casa.\r\n"
)


# The text nodes of the note with their offsets, and its whole text.
NODES = """
    const note = document.getElementById("note");
    const walker = document.createTreeWalker(note, NodeFilter.SHOW_TEXT);
    const nodes = [];
    let all = "";
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        if (!node.parentElement.closest(".line-text")) continue;
        nodes.push([all.length, node]);
        all += node.data;
    }"""


def open_note(page: Page, live: Any, note: Any) -> Page:
    page.goto(live("annotate", note.project.slug, note.pk))
    page.wait_for_selector("html[data-workbench=ready]")
    return page


def reload(page: Page, screen: str = "workbench") -> None:
    """Reload a page of annotating, reviewing or adjudicating, and wait until its script is ready."""
    page.reload()
    page.wait_for_selector(f"html[data-{screen}=ready]")


def saved(page: Page, *keys: str) -> None:
    """Press the keys, if any, and wait until all is saved."""
    press(page, *keys)
    expect(page.locator("#save-state")).to_have_text("Saved")


def hold(page: Page, path: str) -> list[Route]:
    """Keep requests to `path` back. Returns a list that gets them."""
    held: list[Route] = []
    page.route(path, lambda route: held.append(route))
    return held


def wait_for_held(page: Page, held: list[Route], number: int) -> None:
    """Wait until a test that keeps requests back has this number of them."""

    def there() -> bool:
        page.wait_for_timeout(20)  # lets the page go on
        return len(held) >= number

    wait_for(there, what="a request", progress=lambda: len(held))


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
    """Position on the screen of a piece of the note's text."""
    return page.evaluate(
        """([part, edge, nth]) => {"""
        + NODES
        + """
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


def drag(page: Page, part: str, to: str | None = None, *, nth: int = 0) -> None:
    start, end = place(page, part, nth=nth), place(page, to or part, "end", nth=nth)
    page.mouse.move(start["x"], start["y"])
    page.mouse.down()
    page.mouse.move((start["x"] + end["x"]) / 2, (start["y"] + end["y"]) / 2)
    page.mouse.move(end["x"], end["y"])
    page.mouse.up()


def click_text(page: Page, part: str, **options: Any) -> None:
    at = place(page, part)
    page.mouse.click(at["x"] + 3, at["y"], **options)


def handle(page: Page, edge: str) -> dict[str, float]:
    end = page.locator(f".wb-end.is-{edge}")
    expect(end).to_be_visible()  # The page positions it a frame after the gesture.
    box = end.bounding_box()
    assert box is not None
    assert box["width"] >= 24
    assert box["height"] >= 24
    return {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}


def pull(page: Page, edge: str, to: dict[str, float]) -> None:
    """Drag an end of the selected span without releasing the button."""
    at = handle(page, edge)
    page.mouse.move(at["x"], at["y"])
    page.mouse.down()
    page.mouse.move((at["x"] + to["x"]) / 2, to["y"])
    page.mouse.move(to["x"], to["y"])


def label_button(page: Page, name: str) -> Any:
    return page.locator("#side .wb-label", has=page.locator(f".name[title='{name}']"))


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def select_exactly(page: Page, part: str, nth: int) -> None:
    """Select like a mouse, in any writing direction: set the browser's selection, then release the button."""
    page.evaluate(
        """([part, nth]) => {"""
        + NODES
        + """
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


def lose_one_answer(page: Page, path: str) -> list[int]:
    """Carry out the next request to `path`, but drop its answer. Returns a list that gets the status."""
    lost: list[int] = []

    def lose(route: Any) -> None:
        if lost:
            route.continue_()
            return
        lost.append(route.fetch().status)
        route.abort()

    page.route(path, lose)
    return lost
