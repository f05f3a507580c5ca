"""The workbench in Chromium: from a gesture to the frame that shows it, from a click on a note to a page to work with.

On a note of 3 KB and on one of 100 KB with 2,000 spans. What is measured, and from when to when, is said in `watch.js`.
Chromium runs without a screen and without its limit of 60 frames a second: waiting for a screen's next tick is no work
of the page, and a gesture that takes less than 16.7 ms is in the very next frame.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any
from uuid import uuid4

from playwright.sync_api import Page, sync_playwright

from tests.bench.client import Browser
from tests.bench.figures import Figure, over_rounds, percentile
from tests.bench.people import PASSWORD, Bench, new_member, new_project, reading
from tests.chromium import chromium as find_chromium

PART = "workbench"
PROJECT, PERSON = "workbench", "labeller"
WATCH = Path(__file__).with_name("watch.js")
UNPACED = ("--disable-frame-rate-limit", "--disable-gpu-vsync")
SMALL, LARGE = "3 KB", "100 KB, 2,000 spans"
LARGE_CHARACTERS, LARGE_SPANS = 100_000, 2_000
FRAME = 1000 / 60
EACH = 20  # of every gesture, in every round
OPENED = 6
# Milliseconds between two gestures: ten acts a second, faster than any hand, and no gesture waits for the one before.
PAUSE = 100
GESTURES = ("label by key", "label by mouse", "relabel", "resize", "delete", "undo")
Row = dict[str, float]


def measure(bench: Bench) -> list[Figure]:
    pages = _make_notes(bench)
    gestures: dict[tuple[str, str], list[list[Row]]] = defaultdict(list)
    opened: dict[str, list[list[float]]] = defaultdict(list)
    served: list[list[float]] = []
    for _ in range(bench.rounds):
        person = bench.product.signed_in(PERSON, PASSWORD)
        served.append([person.get(pages[LARGE]).took for _ in range(OPENED * 2)])
        person.close()  # the server wouldn't wait for its next request
        with chromium(bench.product.port, person, WATCH) as page:
            for size in (SMALL, LARGE):
                opened[f"open, {size}"].append(_open(page, _url(bench, pages[size])))
                for name, rows in _gestures(page).items():
                    gestures[name, size].append(rows)
            opened[f"next note by key, {LARGE}"].append(_next(page, _url(bench, pages[SMALL])))
    figures = [figure for key, rounds in sorted(gestures.items(), key=_order) for figure in _painted(*key, rounds)]
    figures += [_touched(size, gestures) for size in (SMALL, LARGE)]
    for name, rounds in opened.items():
        aim = 500.0 if LARGE in name else None
        figures.append(over_rounds(PART, f"{name}, p50", [percentile(each, 50) for each in rounds], "ms", aim=aim))
    figures.append(over_rounds(PART, "its page, server, p50", [percentile(each, 50) for each in served], "ms"))
    return figures


def _order(item: tuple[tuple[str, str], object]) -> tuple[int, int]:
    (name, size), _ = item
    return (SMALL, LARGE).index(size), GESTURES.index(name)


def _painted(name: str, size: str, rounds: list[list[Row]]) -> list[Figure]:
    p50, p95 = ([percentile([row["took"] for row in rows], at) for rows in rounds] for at in (50, 95))
    return [
        over_rounds(PART, f"{name}, {size}, p50", p50, "ms"),
        over_rounds(PART, f"{name}, {size}, p95", p95, "ms", aim=FRAME),
    ]


def _touched(size: str, gestures: dict[tuple[str, str], list[list[Row]]]) -> Figure:
    most = max(row["touched"] for (_, of), rounds in gestures.items() if of == size for rows in rounds for row in rows)
    return Figure(PART, f"nodes of the note touched by a gesture, {size}, at most", most)


# ── The notes ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _make_notes(bench: Bench) -> dict[str, str]:
    """The paths of the two notes' pages: one of the corpus, and many of them as one."""
    folder = bench.data / "workbench"
    folder.mkdir()
    texts = [file.read_text(encoding="utf-8") for file in sorted(bench.notes.glob("*.txt"))]
    small = next(text for text in texts if 2_800 < len(text) < 3_400)
    (folder / "a-small.txt").write_text(small, encoding="utf-8")
    (folder / "b-large.txt").write_text("\n".join(texts)[:LARGE_CHARACTERS], encoding="utf-8")
    new_project(bench.product, PROJECT)
    new_member(bench.product, PROJECT, PERSON, "annotator")
    bench.product.manage("import_documents", PROJECT, folder, "--format", "text")
    person = bench.product.signed_in(PERSON, PASSWORD)
    first = person.get(f"/projects/{PROJECT}/notes/next/", expect=302).location
    number = int(re.findall(r"/notes/(\d+)/", first)[0])
    pages = {SMALL: first, LARGE: first.replace(f"/{number}/", f"/{number + 1}/")}
    _label(person, pages[LARGE])
    person.close()
    return pages


def _label(person: Browser, path: str) -> None:
    """Spans all over the note, each on a word."""
    page = reading(person.get(path))
    words = list(re.finditer(r"\w{4,}", page["text"]))
    chosen = [words[number * len(words) // LARGE_SPANS] for number in range(LARGE_SPANS)]
    labels = cycle(label["id"] for label in page["labels"])
    spans = [
        {"start": word.start(), "end": word.end(), "label": label, "quote": word[0]}
        for word, label in zip(chosen, labels, strict=False)
    ]
    change = {"change_id": str(uuid4()), "kind": "create_many", "version": page["version"], "spans": spans}
    answer = person.post_json(page["urls"]["changes"], {**change, "person": page["person"]})
    made = len(answer.json()["made"])
    if made != LARGE_SPANS:
        raise RuntimeError(f"{made} spans were made, not {LARGE_SPANS}")


# ── In Chromium ──────────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def chromium(port: int, person: Browser, *scripts: Path, **options: Any) -> Iterator[Page]:
    """A page in which that person is signed in. `scripts` run before the page's own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(window=True), args=["--no-sandbox", *UNPACED]
        )
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
        context.add_cookies(
            [
                {"name": name, "value": value, "url": f"http://127.0.0.1:{port}"}
                for name, value in person.cookies.items()
            ]
        )
        for script in scripts:
            context.add_init_script(path=script)
        page = context.new_page()
        try:
            yield page
        finally:
            browser.close()


def _url(bench: Bench, path: str) -> str:
    return f"http://127.0.0.1:{bench.product.port}{path}"


def _opened(page: Page) -> Row:
    page.wait_for_function("() => window.benchWatch?.opened")
    return dict(page.evaluate("benchWatch.opened"))


def _open(page: Page, url: str) -> list[float]:
    """Milliseconds from the navigation to a page to work with, without the first one, which fills the cache."""
    times = []
    for _ in range(OPENED + 1):
        page.goto(url)
        times.append(_opened(page)["took"])
    return times[1:]


def _next(page: Page, url: str) -> list[float]:
    """From the key in the small note to the large one, which the page fetched ahead while the person read."""
    times = []
    for _ in range(OPENED):
        page.goto(url)
        _opened(page)
        page.wait_for_load_state("networkidle")
        page.evaluate("benchWatch.opened = null; benchWatch.isHere = true")
        page.keyboard.press("n")
        opened = _opened(page)
        if not opened["isPressed"] or not page.evaluate("benchWatch.isHere"):
            raise RuntimeError("the key opened no note in place")
        times.append(opened["took"])
    return times


def _gestures(page: Page) -> dict[str, list[Row]]:
    """Milliseconds and nodes of each gesture, made in the middle of the note that is open."""
    found: dict[str, list[Row]] = defaultdict(list)

    def timed(name: str, act: Callable[[], None]) -> None:
        page.wait_for_timeout(PAUSE)
        page.evaluate("benchWatch.gesture()")
        act()
        found[name].append(page.evaluate("benchWatch.made()"))

    page.evaluate("benchWatch.middle()")
    keys = page.locator("#side .wb-label kbd").all_inner_texts()
    for _ in range(EACH):
        _press_on_a_word(page)
        page.mouse.up()
        timed("label by key", lambda: page.keyboard.press(keys[0]))
        timed("resize", lambda: page.keyboard.press("Shift+ArrowRight"))
        timed("relabel", lambda: page.keyboard.press(keys[1]))
        timed("delete", lambda: page.keyboard.press("Delete"))
        timed("undo", lambda: page.keyboard.press("Control+z"))
        for _ in range(3):
            page.keyboard.press("Control+z")  # the span is gone again
        _saved(page)
    page.keyboard.press("Escape")
    page.keyboard.press(keys[0])  # armed
    for _ in range(EACH):
        _press_on_a_word(page)
        timed("label by mouse", page.mouse.up)
        page.keyboard.press("Control+z")
        _saved(page)
    page.keyboard.press("Escape")
    return found


def _press_on_a_word(page: Page) -> None:
    """Drag over a word without a span, in the middle of what is shown; the button is still down."""
    words = page.evaluate("benchWatch.words()")
    word = words[len(words) // 2]
    page.mouse.move(word["left"] + 1, word["y"])
    page.mouse.down()
    page.mouse.move(word["right"] - 1, word["y"])


def _saved(page: Page) -> None:
    page.wait_for_selector("#save-state[data-save=saved]")
