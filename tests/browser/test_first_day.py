"""A manager's first day, from the new project to a signed release, by mouse alone and by keyboard alone.

The manager follows "Next step" on the overview. The annotators' own work has its own tests (tests/browser/annotate).
`acts` counts clicks, choices, and texts; by keyboard, the keys that lead to a control and press it are one act.
"""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import Locator, Page, expect

from annotations.jobs.services.worker import perform
from annotations.models import Assignment, Document, GoldVersion, Job, JobState, Label, Project, User
from tests import factories as make

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

    def follow(self, action: str) -> None:
        """Do the next step of the overview."""
        self.link("First ward")
        button = self.page.locator(".next-step .btn.primary")
        expect(button).to_contain_text(action)
        self.press(button)

    def choose(self, label: str, option: str) -> None:
        # The browser draws the open list outside of the page: a click opens it, and a click chooses.
        self.field(label).select_option(label=option)
        self.acts += 2


class Keys(Hands):
    """The same by keyboard: Tab goes to a control, and Enter or Space presses it."""

    def press(self, target: Locator) -> None:
        self.reach(target)
        on = self.page.evaluate("document.activeElement.matches('input')")
        self.page.keyboard.press("Space" if on else "Enter")
        self.acts += 1

    def reach(self, target: Locator) -> None:
        target = target.first
        target.wait_for()
        field = target.evaluate_handle(
            "node => node.labels || node.tagName !== 'LABEL' ? node : node.control"
        ).as_element()
        assert field is not None
        for _ in range(400):
            # A group of radio buttons is one stop: the arrow keys go on in it.
            where = field.evaluate(
                """node => node === document.activeElement ? "here"
                   : node.type === "radio" && document.activeElement.name === node.name ? "group" : "" """
            )
            if where == "here":
                return
            self.page.keyboard.press("ArrowDown" if where == "group" else "Tab")
        raise AssertionError(f"Tab never reaches {target}")

    def fill(self, label: str, words: str) -> None:
        self.reach(self.field(label))
        self.page.keyboard.insert_text(words)
        self.acts += 1

    def choose(self, label: str, option: str) -> None:
        self.reach(self.field(label))
        self.page.keyboard.type(option)
        self.acts += 1


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
    for note in Document.objects.filter(project=project, assignments__user=user).order_by("name"):
        person, town = (next(each for each in known if each in note.text) for known in (NAMES, TOWNS))
        parts = [(person, "PATIENT"), (town, "CITY")][: 1 if note.name == missed else 2]
        spans = [(note.text.index(part), note.text.index(part) + len(part), label) for part, label in parts]
        make.make_set(note, user, spans, submitted=True)


@pytest.mark.parametrize("way", [Hands, pytest.param(Keys, marks=pytest.mark.nightly)])
def test_from_a_new_project_to_a_signed_release(way, world, page_of, live):
    page: Page = page_of(world.boss, permissions=["clipboard-read", "clipboard-write"])
    hands = way(page)

    page.goto(live("projects"))
    hands.link("New project")
    hands.fill("Name", "First ward")
    hands.files("Choose files", world.files)
    hands.button("Create project")
    expect(page.get_by_role("heading", name="Whose spans are these?")).to_be_visible()
    hands.tick("A model run")
    hands.fill("Name of the run", "old-tool")
    hands.choose("FECHAS", "DATE")
    hands.button("Start import")
    page.wait_for_url("**/people/")
    work()

    hands.fill("People", "ada\nben")
    hands.button("Add")
    hands.button("Copy all")
    hands.link("Continue")

    hands.link("Write guidelines")
    hands.fill("Guidelines", "# Names\n\nMark first and last names as one span.")
    hands.button("Save")
    page.wait_for_url("**/guidelines/")
    hands.follow("Start a pilot of 10 notes")
    expect(page.get_by_text("0 of 10 notes")).to_be_visible()
    annotate("ada")
    annotate("ben", missed=first_of_the_pilot())

    hands.follow("Show agreement")
    work()
    expect(page.get_by_text("Krippendorff").first).to_be_visible()

    hands.follow("Adjudicate")
    work()
    hands.link("Begin")
    page.wait_for_selector("html[data-adjudicate=ready]")
    expect(page.locator("#note-name")).to_have_text(first_of_the_pilot())
    # One annotator's version of the open disagreement, then all unanimous locations.
    hands.press(page.locator("#chosen [data-act]").first)
    hands.press(page.locator("#unanimous"))
    hands.press(page.locator("#finish"))  # makes gold, too
    expect(page.locator("#note-name")).not_to_have_text(first_of_the_pilot())

    hands.follow("Assign all notes")
    hands.link("Gold")
    hands.tick("ada")
    hands.button("Make gold")
    page.wait_for_url("**/jobs/*/")
    work()
    hands.follow("Freeze gold")
    hands.button("Freeze")
    expect(page.get_by_role("main")).to_contain_text("Gold version 1")
    assert GoldVersion.objects.get().note_count == PILOT
    assert Label.objects.filter(code="FECHAS").count() == 0

    hands.follow("Release text")
    hands.fill("Purpose", "Teaching")
    hands.fill("Recipient", "University of Milan")
    hands.button("Start release")
    page.wait_for_url("**/releases/1/")
    work()
    page.reload()
    hands.link("Decide findings")
    expect(page.locator("html")).to_have_attribute("data-findings", "ready")
    while (left := page.locator("#count-open").inner_text()) != "0":
        hands.button("Replace")
        expect(page.locator("#count-open")).not_to_have_text(left)
    hands.link("Release 1")
    hands.link("Review and sign")
    page.wait_for_url("**/sign")
    for risk in page.get_by_role("checkbox").all():
        hands.tick(risk.evaluate("node => node.labels[0].textContent"))
    hands.fill("Certificate valid until", "")  # A date takes keys only.
    page.keyboard.type("03012027")
    hands.press(page.get_by_role("button", name="Sign", exact=True))
    expect(page.get_by_text("Release 1 is signed.")).to_be_visible()
    assert hands.acts <= 70
    print("ACTS", way.__name__, hands.acts)


def first_of_the_pilot() -> str:
    return next(iter(Assignment.objects.order_by("document__name").values_list("document__name", flat=True)))


def test_a_project_begins_without_scripts(world, page_of, live):
    """Own labels and people are pasted, and the browser's own field takes the files; then the pilot begins."""
    page: Page = page_of(world.boss, java_script_enabled=False)
    hands = Hands(page)
    page.goto(live("project_new"))
    hands.fill("Name", "First ward")
    page.locator("input[type=file]").set_input_files(world.files)
    hands.tick("My own labels")
    hands.fill("Your labels", "Person = name\nTown = city\nFECHAS = date")
    hands.button("Create project")
    hands.tick("A model run")
    hands.fill("Name of the run", "old-tool")
    hands.button("Start import")
    page.wait_for_url("**/people/")
    work()
    hands.fill("People", "ada\nben")
    hands.button("Add")
    expect(page.get_by_text("ada").first).to_be_visible()
    hands.link("Continue")
    hands.button("Start a pilot of 10 notes")
    expect(page.get_by_text("0 of 10 notes")).to_be_visible()
    assert set(Label.objects.values_list("identifier", flat=True)) == {"name", "city", "date"}
    assert Document.objects.count() == len(NOTES)
