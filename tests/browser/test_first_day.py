"""A manager's first day, from the new project to the export, by mouse alone.

The manager follows "Next steps" on the overview. The annotators' own work has its own tests (tests/browser/annotate).
"""

import re
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import Locator, Page, expect

from annotations.jobs.services.worker import perform
from annotations.models import Document, GoldVersion, Job, JobState, Label, Project, Span, User
from tests import factories as make
from tests.waiting import in_browser

NAMES = ["Anna Bianchi", "Luis Otero", "Marco Rossi", "Eva Sanz", "Paolo Conti", "Rita Neri"]
TOWNS = ["Madrid", "Burgos", "Torino", "Bari"]
PILOT = 10
# The last note has the spans of an earlier tool, with a label that the project doesn't have.
NOTES = {
    f"caso-{n:02}": f"Paziente: {NAMES[n % 6]}, di {TOWNS[n % 4]}.\nRicoverato il 0{n % 9 + 1}/03/2021, riposo.\n"
    for n in range(PILOT + 2)
}


class Hands:
    """What a manager does on pages, by mouse; `acts` counts clicks, keys, and texts."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.acts = 0

    def link(self, name: str) -> None:
        self.press(self.page.get_by_role("link", name=name).first)

    def button(self, name: str) -> None:
        self.press(self.page.locator("button:visible").filter(has_text=name).first)

    def field(self, label: str) -> Locator:
        """The field with this label, which may be followed by "(optional)"."""
        return self.page.get_by_label(re.compile(rf"^\s*{label}\s*(\(.*)?$")).first

    def files(self, button: str, paths: list[Path]) -> None:
        with self.page.expect_file_chooser() as chooser:
            self.button(button)
        chooser.value.set_files(paths)
        self.acts += 1

    def press(self, target: Locator) -> None:
        target.click()
        self.acts += 1

    def fill(self, label: str, words: str) -> None:
        self.press(self.field(label))
        self.page.keyboard.insert_text(words)
        self.acts += 1

    def tick(self, label: str) -> None:
        self.press(self.page.locator(f"label[for={self.field(label).get_attribute('id')}]"))

    def choose(self, label: str, option: str) -> None:
        # The browser draws the open list outside of the page: a click opens it, and a click chooses.
        self.field(label).select_option(label=option)
        self.acts += 2


@pytest.fixture
def world(transactional_db, settings, tmp_path):
    settings.REDIS_URL = f"unix://{tmp_path}/none.sock"  # the test does the jobs' work itself
    files = []
    for name, text in NOTES.items():
        files.append(tmp_path / f"{name}.txt")
        files[-1].write_bytes(text.encode())
    at = text.index("Ricoverato il ") + 14
    files.append(tmp_path / f"{name}.ann")
    files[-1].write_bytes(f"T1\tFECHAS {at} {at + 10}\t{text[at : at + 10]}\n".encode())
    return SimpleNamespace(boss=make.make_user("boss", is_staff=True), files=files)


def work() -> None:
    """What the worker does: every job that waits."""
    for job in Job.objects.filter(state=JobState.QUEUED).order_by("pk"):
        perform(job.pk)


def annotate(name: str, *, missed: str = "") -> None:
    """The annotator submits the pilot, in which one span is missed in the note `missed`."""
    project, user = Project.objects.get(), User.objects.get(username=name)
    for note in Document.objects.filter(project=project).order_by("name")[:PILOT]:
        person, town = (next(each for each in known if each in note.text) for known in (NAMES, TOWNS))
        parts = [(person, "PATIENT"), (town, "CITY")][: 1 if note.name == missed else 2]
        spans = [(note.text.index(part), note.text.index(part) + len(part), label) for part, label in parts]
        make.make_set(note, user, spans, submitted=True)


def next_step(hands: Hands, action: str) -> None:
    """Follow the step of the checklist that the overview offers next."""
    hands.link("First ward")
    expect(hands.page.locator(".todo-list .btn.primary")).to_have_text(action)
    hands.press(hands.page.locator(".todo-list .btn.primary"))


def test_from_a_new_project_to_the_export(world, page_of, live):
    page: Page = page_of(world.boss, permissions=["clipboard-read", "clipboard-write"])
    hands = Hands(page)

    page.goto(live("projects"))
    hands.link("New project")
    hands.fill("Name", "First ward")
    hands.button("Create project")
    expect(page.get_by_role("heading", level=1)).to_have_text("First ward")

    next_step(hands, "Import notes")
    hands.files("Choose files", world.files)
    hands.tick("A model run")
    hands.fill("Name of the run", "old-tool")
    hands.button("Preview import")
    expect(page.get_by_role("heading", name="Unknown labels")).to_be_visible()
    hands.choose("FECHAS", "DATE")
    hands.button("Save choices")
    hands.button("Start import")
    page.wait_for_url("**/jobs/*/")
    work()
    expect(page.get_by_role("link", name="Go to notes")).to_be_visible()

    next_step(hands, "Invite people")
    for name in ("ada", "ben"):
        hands.fill("User name", name)
        hands.tick("New account")
        hands.button("Add")
        hands.button("Copy")
        hands.link("Back to People")
        expect(page.get_by_role("row").filter(has_text=name)).to_be_visible()

    next_step(hands, "Write guidelines")
    hands.fill("Guidelines", "# Names\n\nMark first and last names as one span.")
    hands.button("Save")
    page.wait_for_url("**/guidelines/")

    next_step(hands, "Show notes")
    expect(page.get_by_role("row").filter(has_text="caso-00")).to_be_visible()
    annotate("ada")
    annotate("ben", missed="caso-04")

    next_step(hands, "Show agreement")
    work()
    expect(page.get_by_text("Krippendorff").first).to_be_visible()

    next_step(hands, "Adjudicate")
    work()
    hands.link("Begin")
    page.wait_for_selector("html[data-adjudicate=ready]")
    expect(page.locator("#note-name")).to_have_text("caso-04")
    # One annotator's version of the open disagreement, then all unanimous locations.
    hands.press(page.locator("#chosen [data-act]").first)
    hands.press(page.locator("#unanimous"))
    hands.press(page.locator("#finish"))  # makes gold, too
    expect(page.locator("#note-name")).not_to_have_text("caso-04")

    next_step(hands, "Freeze gold")
    hands.tick("ada")
    hands.button("Make gold")
    page.wait_for_url("**/jobs/*/")
    work()
    next_step(hands, "Freeze gold")
    hands.button("Freeze")
    expect(page.get_by_role("main")).to_contain_text("Gold version 1")
    assert GoldVersion.objects.get().note_count == PILOT

    hands.link("Models")
    hands.link("Trained")
    hands.button("Start training")
    page.wait_for_url("**/models/*/")
    work()
    hands.button("Run on all notes")
    page.wait_for_url("**/runs/*/")
    work()

    hands.link("Review suggestions")
    page.wait_for_selector("html[data-review=ready]")
    name = page.locator("#note-name").inner_text()
    hands.press(page.locator("#finish-rest"))
    page.wait_for_function("name => document.querySelector('#note-name')?.textContent !== name", arg=name)
    assert Span.objects.filter(annotation_set__author__kind="gold", annotation_set__document__name=name).exists()

    next_step(hands, "Export")
    hands.choose("Annotations", "Current gold standard")
    hands.choose("Format", "brat")
    hands.button("Start export")
    page.wait_for_url("**/jobs/*/")
    work()
    with page.expect_download(timeout=in_browser()) as waiting:
        hands.link("Download")
    with zipfile.ZipFile(waiting.value.path()) as archive:
        assert len([each for each in archive.namelist() if each.endswith(".ann")]) == PILOT + 1
    hands.link("First ward")
    expect(page.get_by_role("heading", name="Next steps")).to_have_count(0)
    assert Label.objects.filter(code="FECHAS").count() == 0
