"""`python -m tests.bench.screens [FOLDER]`: pictures of the product in the demo project, for docs/screenshots.

Runs it with its demo in a folder of its own, labels and decides a little: 1440 and 390 pixels wide, light and dark.
"""

import shutil
import sys
import tempfile
from pathlib import Path
from uuid import uuid4

from playwright.sync_api import Page

from tests.bench.client import Browser
from tests.bench.people import reading
from tests.bench.product import ROOT, Product
from tests.bench.workbench import chromium

PERSON, REVIEWER, PASSWORD = "anna", "reviewer", "demo-password"
NOTE = "it-covid-012"
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
# What is labelled already when the picture is taken: (text, label), each where it stands first.
LABELLED = [
    ("Dario Morosin", "PATIENT"),
    ("11/10/1983", "DATE"),
    ("MRSDRA83R11L407W", "IDNUM"),
    ("Elena Casagrande", "DOCTOR"),
    ("Umberto Fregonese", "DOCTOR"),
    ("Casa di Cura Tre Fontane, Conegliano", "HOSPITAL"),
    ("Conegliano", "CITY"),
    ("36 anni", "AGE"),
    ("carrozziere", "PROFESSION"),
    ("RS9-20188834", "DEVICE"),
    ("17/03", "DATE"),
    ("20/03", "DATE"),
    ("21/03/2020", "DATE"),
    ("Treviso", "CITY"),
]


def main(folder: Path) -> None:
    data = Path(tempfile.mkdtemp(prefix="screens-"))
    product = Product(data, DEIDREVIEW_DEMO="1")
    try:
        product.start()
        person = product.signed_in(PERSON, PASSWORD)
        path = _labelled(person)
        for scheme in ("light", "dark"):
            for viewport in (WIDE, NARROW):
                with chromium(product.port, person, viewport=viewport, color_scheme=scheme) as page:
                    page.goto(f"http://127.0.0.1:{product.port}{path}")
                    page.wait_for_selector("html[data-workbench=ready]")
                    name = f"{scheme}-{viewport['width']}"
                    _select(page, "Conegliano")
                    page.screenshot(path=folder / f"annotate-{name}.png")
                    if viewport is WIDE and scheme == "light":
                        _mentions(page)
                        page.screenshot(path=folder / f"annotate-mentions-{name}.png")
        person.close()
        _deciding(product, folder)
    finally:
        product.stop()
        shutil.rmtree(data, ignore_errors=True)


def _deciding(product: Product, folder: Path) -> None:
    """What reviewers see."""
    person = product.signed_in(REVIEWER, PASSWORD)
    at = f"http://127.0.0.1:{product.port}"
    for scheme in ("light", "dark"):
        for viewport in (WIDE, NARROW):
            name = f"{scheme}-{viewport['width']}"
            with chromium(product.port, person, viewport=viewport, color_scheme=scheme) as page:
                page.goto(f"{at}/projects/demo/runs/")
                page.get_by_role("link", name="Review rules-1").click()
                page.wait_for_selector("html[data-review=ready]")
                if scheme == "light" and viewport is WIDE:
                    for key in "aaax":
                        page.keyboard.press(key)
                    page.wait_for_selector("#save-state[data-save=saved]")
                page.screenshot(path=folder / f"review-{name}.png")
    with chromium(product.port, person, viewport=WIDE) as page:
        page.goto(f"{at}/projects/demo/adjudicate/next/")
        page.wait_for_load_state("networkidle")
        page.screenshot(path=folder / "adjudicate-light-1440.png")
        page.goto(f"{at}/projects/demo/agreement/")
        page.wait_for_load_state("networkidle")
        page.screenshot(path=folder / "agreement-light-1440.png")
    person.close()


def _labelled(person: Browser) -> str:
    """The path of the note's page, after its labels were given."""
    path = "/projects/demo/notes/next/"
    while f"<title>{NOTE} " not in (page := person.get(path := person.get(path, expect=302).location)).text:
        path = f"/projects/demo/notes/next/?after={path.split('/')[-3]}"
    opened = reading(page)
    labels = {label["name"]: label["id"] for label in opened["labels"]}
    text = opened["text"]
    spans = [
        {"start": text.index(part), "end": text.index(part) + len(part), "label": labels[name], "quote": part}
        for part, name in LABELLED
    ]
    change = {"change_id": str(uuid4()), "kind": "create_many", "version": opened["version"], "spans": spans}
    person.post_json(opened["urls"]["changes"], {**change, "person": opened["person"]})
    return path


def _select(page: Page, quote: str) -> None:
    """The innermost span with this text."""
    page.locator("#note .span", has_text=quote).last.click()
    page.locator("#selected .chip").wait_for()
    if page.locator(".wb-pop:visible").count():
        page.keyboard.press("Escape")  # the list of the spans that lie there


def _mentions(page: Page) -> None:
    """The list of the other mentions of a text, from which a label is given to all."""
    page.keyboard.press("Escape")
    _select(page, "Dario Morosin")
    page.keyboard.press("*")
    page.locator(".wb-mentions").wait_for()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "screenshots")
