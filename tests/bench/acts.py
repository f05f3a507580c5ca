"""Acts per span: what an ideal user needs to bring notes from nothing to gold, by mouse and by keyboard.

`acts.mjs` plans, by the product's own rules, the cheapest acts for each note; it says what an act is. The plans of the
first notes are then really played in Chromium against the product, and what is saved must be the gold, span by span.
"""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Page

from tests.bench.client import Browser
from tests.bench.figures import Figure
from tests.bench.people import PASSWORD, Bench, new_member, new_project, reading
from tests.bench.workbench import chromium

PART = "acts"
HERE = Path(__file__).parent
NOTES = 50
PLAYED = 3
FEATURES = {
    "arm": "armed labels",
    "expand": "smart expansion",
    "jump": "next-untouched jump",
    "go on": "going on by itself",
    "mentions": "apply to all mentions",
}
PATHS = ("mouse", "keyboard")
Act = list[Any]


def measure(bench: Bench) -> list[Figure]:
    notes = gold_notes(bench.notes)
    spans = sum(len(note["spans"]) for note in notes)
    plans = planned(notes, FEATURES)
    _play(bench, notes[:PLAYED], plans)
    figures = [Figure(PART, f"spans in {NOTES} notes", spans)]
    figures += [_figure(f"{path}, acts per span", plans[path], spans) for path in PATHS]
    for feature, words in FEATURES.items():
        without = planned(notes, set(FEATURES) - {feature})
        figures += [
            _figure(f"{path}, without {words}", without[path], spans) for path in PATHS if without[path] != plans[path]
        ]
    none = planned(notes, ())
    return figures + [_figure(f"{path}, with none of these", none[path], spans) for path in PATHS]


def _figure(name: str, acts: list[list[Act]], spans: int) -> Figure:
    return Figure(PART, name, sum(len(each) for each in acts) / spans)


def gold_notes(folder: Path) -> list[dict[str, Any]]:
    """The first notes of the corpus, with their gold spans in reading order."""
    notes = []
    for file in sorted(folder.glob("*.ann"))[:NOTES]:
        lines = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("T")]
        places = [place.split(" ") for _, place, _ in lines]
        spans = sorted((int(start), int(end), label) for label, start, end in places)
        notes.append({"name": file.stem, "text": file.with_suffix(".txt").read_bytes().decode(), "spans": spans})
    return notes


def planned(notes: list[dict[str, Any]], features: Iterable[str]) -> dict[str, list[list[Act]]]:
    """The acts of each note, by path."""
    question = json.dumps({"notes": notes, "features": sorted(features)})
    command = ["node", str(HERE / "acts.mjs")]
    done = subprocess.run(command, input=question, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the planner failed: {done.stderr.strip()}")
    return dict(json.loads(done.stdout))


# ── Playing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _play(bench: Bench, notes: list[dict[str, Any]], plans: dict[str, list[list[Act]]]) -> None:
    """Play the plans of these notes, each path as a person of its own. Raises RuntimeError where gold is missed."""
    folder = bench.data / "acts"
    folder.mkdir()
    for note in notes:
        (folder / f"{note['name']}.txt").write_bytes(note["text"].encode())
    new_project(bench.product, PART)
    for path in PATHS:
        new_member(bench.product, PART, f"by-{path}", "annotator")
    bench.product.manage("import_documents", PART, folder, "--format", "text")
    for path in PATHS:
        person = bench.product.signed_in(f"by-{path}", PASSWORD)
        with chromium(bench.product.port, person, HERE / "hands.js") as page:
            page.goto(f"http://127.0.0.1:{bench.product.port}/projects/{PART}/notes/next/")
            if path == "keyboard":
                _go_on(page)
            for note, acts in zip(notes, plans[path], strict=False):
                _play_note(page, person, note, acts)
        person.close()


def _go_on(page: Page) -> None:
    """Once for all notes, so it counts as no act; the first note is opened with it."""
    page.wait_for_selector("html[data-workbench=ready]")
    page.keyboard.press("Control+,")
    page.reload()


def _play_note(page: Page, person: Browser, note: dict[str, Any], acts: list[Act]) -> None:
    page.wait_for_function("name => document.getElementById('note-name')?.textContent.includes(name)", arg=note["name"])
    page.wait_for_selector("html[data-workbench=ready]")
    opened = reading(person.get(urlsplit(page.url).path))
    names = {label["id"]: label["name"] for label in opened["labels"]}
    keys = {label["name"]: label["key"] for label in opened["labels"]}
    for act in acts[:-1]:
        _do(page, act, keys)
    page.wait_for_selector("#save-state[data-save=saved]")
    made = person.get(opened["urls"]["spans"]).json()["spans"]
    found = sorted((span["start"], span["end"], names[span["label"]]) for span in made)
    if found != [tuple(span) for span in note["spans"]]:
        raise RuntimeError(f"played, {note['name']} has other spans than gold")
    _do(page, acts[-1], keys)


# A person looks before the next act: what the last one did is on the screen.
LOOK = "new Promise((done) => setTimeout(() => requestAnimationFrame(done), 0))"


def _do(page: Page, act: Act, keys: dict[str, str]) -> None:
    page.evaluate(LOOK)
    match act:
        case ["key", key]:
            page.keyboard.press(key)
        case ["label key", label]:
            page.keyboard.press(keys[label])
        case ["label", label]:
            page.locator("#side .wb-label", has=page.locator(f".name:text-is('{label}')")).click()
        case ["palette", label]:
            page.locator("#palette .wb-label", has=page.locator(f".name:text-is('{label}')")).click()
        case ["drag", start, end]:
            _drag(page, start, end)
        case ["alt-drag", start, end]:
            page.keyboard.down("Alt")
            _drag(page, start, end)
            page.keyboard.up("Alt")
        case ["hold", "Alt"]:
            pass  # counted beside its drag
        case ["double", start, end]:
            first, last = page.evaluate("place => benchEnds(...place)", [start, end])
            page.mouse.dblclick((2 * first["x"] + last["x"]) / 3, first["y"])
        case ["submit"]:
            page.locator("#submit").click()
        case _:
            raise RuntimeError(f"the planner wants {act[0]}, which nobody can play")


def _drag(page: Page, start: int, end: int) -> None:
    first, last = page.evaluate("place => benchEnds(...place)", [start, end])
    page.mouse.move(**first)
    page.mouse.down()
    page.mouse.move(**last)
    page.mouse.up()
