"""From notes to gold as people do it: a manager imports, two annotators label, a reviewer makes gold and exports brat.

Everything is real: the run command with its Redis, worker, relay and web server, the accounts, Chromium.
"""

import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.waiting import in_browser

# By day, the walk of test_run_and_review.py goes through the same processes, on PostgreSQL, and the tests in
# tests/browser (adjudicate/test_adjudicate.py, test_first_day.py) through the same pages.
pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.nightly]
SECRET = "a-long-enough-secret-7"
NOTES = {
    "alta-001": "Paciente: Lucía Ferrer Soto\r\nEdad: 61 años\r\nIngresó en Málaga el 03/05/2021.\r\n",
    "alta-002": "\ufeffMédico: Dr. Íñigo Roca 🏥\nRevisión en Cádiz.\n",
}


class Person:
    """A person with their own browser context."""

    def __init__(self, browser: Browser, base: str) -> None:
        self.base = base
        self.context = browser.new_context(viewport={"width": 1440, "height": 900}, accept_downloads=True)
        self.page = self.context.new_page()
        self.page.set_default_timeout(in_browser())

    def go(self, path: str) -> Page:
        self.page.goto(path if path.startswith("http") else self.base + path)
        return self.page

    def sign_in(self, name: str) -> None:
        page = self.go("/accounts/login/")
        page.fill("input[name=login]", name)
        page.fill("input[name=password]", SECRET)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="Projects", exact=True)).to_be_visible()

    def choose_password(self, link: str) -> None:
        page = self.go(link)
        page.fill("input[name=password1]", SECRET)
        page.fill("input[name=password2]", SECRET)
        page.get_by_role("button", name="Save password").click()
        page.wait_for_load_state()


def add_person(manager: Person, name: str, role: str) -> str:
    """Create the account on the page People. Return the one-time link."""
    page = manager.go("/projects/ward-3/people/")
    page.get_by_label("User name").fill(name)
    page.locator("input[name=account]").last.check()
    page.locator(f"input[name=role][value={role}]").check()
    page.get_by_role("button", name="Add", exact=True).click()
    return page.locator("#link").inner_text()


def finished_job(page: Page) -> None:
    expect(page.locator("#job-status")).to_contain_text(re.compile(r"Done|Took"))


def label(page: Page, quote: str, key: str, *, line: int) -> None:
    """Drag over the quote in its line and press the label's key."""
    box = page.evaluate(
        """([quote, line]) => {
            const root = document.querySelectorAll("#note .line-text")[line];
            const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
            for (let node = walker.nextNode(); node; node = walker.nextNode()) {
                const at = node.data.indexOf(quote);
                if (at < 0) continue;
                const range = document.createRange();
                range.setStart(node, at);
                range.setEnd(node, at + quote.length);
                const box = range.getBoundingClientRect();
                return [box.left, box.right, box.top + box.height / 2];
            }
        }""",
        [quote, line],
    )
    left, right, middle = box
    page.mouse.move(left + 1, middle)
    page.mouse.down()
    page.mouse.move((left + right) / 2, middle)
    page.mouse.move(right - 1, middle)
    page.mouse.up()
    page.keyboard.press(key)
    expect(page.locator("#save-state")).to_have_text("Saved")


def annotate(annotator: Person, keys: dict[str, str]) -> None:
    page = annotator.page
    page.get_by_role("link", name="Ward 3").first.click()
    page.get_by_role("link", name=re.compile("Continue|Start")).first.click()
    for _ in NOTES:
        page.wait_for_selector("html[data-workbench=ready]")
        name = page.locator("h1").inner_text()
        if "alta-001" in name:
            label(page, "Lucía Ferrer Soto", keys["patient"], line=0)
            label(page, "Málaga", keys["place"], line=2)
        else:
            label(page, "Íñigo Roca", keys["staff"], line=0)
            label(page, "Cádiz", keys["place"], line=1)
        page.get_by_role("button", name=re.compile("^Submit")).click()
        page.wait_for_load_state()
        page.wait_for_function("before => !document.querySelector('h1')?.innerText.includes(before)", arg=name)


@pytest.fixture
def product(start: Any, manage: Any) -> Any:
    started = start()
    started.wait_ready()
    manage(
        "createsuperuser", "--noinput", "--username", "boss", "--email", "boss@ward.example",
        DJANGO_SUPERUSER_PASSWORD=SECRET,
    )  # fmt: skip
    return started


def test_from_notes_to_gold(product: Any, browser: Browser, tmp_path: Path) -> None:
    base = f"http://127.0.0.1:{product.port}"
    boss, anna, bruno, rita = (Person(browser, base) for _ in range(4))

    # The manager: a project, people, notes.
    boss.sign_in("boss")
    page = boss.go("/projects/new")
    page.get_by_label("Name").first.fill("Ward 3")
    page.locator("label[for=set-meddocan]").click()
    page.get_by_role("button", name="Create project").click()
    expect(page.get_by_role("heading", name="Ward 3", exact=True)).to_be_visible()
    for person, name, role in ((anna, "anna", "annotator"), (bruno, "bruno", "annotator"), (rita, "rita", "reviewer")):
        person.choose_password(add_person(boss, name, role))

    folder = tmp_path / "in"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / f"{name}.txt").write_bytes(text.encode())
    (folder / "bad.txt").write_bytes(b"no \0 text")
    page = boss.go("/projects/ward-3/import/")
    page.locator("input[name=files]").set_input_files([str(file) for file in sorted(folder.iterdir())])
    page.get_by_role("button", name="Preview import").first.click()
    expect(page.get_by_role("main")).to_contain_text(re.compile("NUL"))
    page.get_by_role("button", name="Start import").click()
    finished_job(page)

    # Two annotators, blind to each other.
    page = boss.go("/projects/ward-3/labels/")
    keys = {}
    for role, code in (
        ("patient", "NOMBRE_SUJETO_ASISTENCIA"), ("staff", "NOMBRE_PERSONAL_SANITARIO"), ("place", "TERRITORIO"),
    ):  # fmt: skip
        row = page.get_by_role("row").filter(has=page.get_by_text(code, exact=True)).first
        keys[role] = row.locator("kbd").first.inner_text().strip()
    for person, name in ((anna, "anna"), (bruno, "bruno")):
        person.sign_in(name)
        annotate(person, keys)

    # The reviewer: gold, a frozen version, brat.
    rita.sign_in("rita")
    page = rita.go("/projects/ward-3/notes/")
    for name in NOTES:
        page = rita.go("/projects/ward-3/notes/")
        page.get_by_role("link", name=name).first.click()
        page.get_by_role("button", name="Make gold", exact=True).click()
        expect(page.get_by_role("main")).to_contain_text("gold")
    page = rita.go("/projects/ward-3/gold/")
    page.get_by_role("button", name="Freeze").click()
    expect(page.get_by_role("main")).to_contain_text("Gold version 1")
    page = rita.go("/projects/ward-3/export/")
    page.locator("[name=set]").first.select_option("gold:1")
    page.get_by_label("Format").select_option("brat")
    page.get_by_role("button", name="Start export").click()
    finished_job(page)
    with page.expect_download() as waiting:
        page.get_by_role("link", name=re.compile("Download")).first.click()

    with zipfile.ZipFile(waiting.value.path()) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    for name, text in NOTES.items():
        assert files[f"{name}.txt"] == text.encode()
    assert annotations(files["alta-001.ann"]) == {
        ("NOMBRE_SUJETO_ASISTENCIA", "Lucía Ferrer Soto", 10),
        ("TERRITORIO", "Málaga", NOTES["alta-001"].index("Málaga")),
    }
    assert annotations(files["alta-002.ann"]) == {
        ("NOMBRE_PERSONAL_SANITARIO", "Íñigo Roca", NOTES["alta-002"].index("Íñigo")),
        ("TERRITORIO", "Cádiz", NOTES["alta-002"].index("Cádiz")),
    }
    assert {"annotation.conf", "visual.conf"} <= set(files)
    for person in (boss, anna, bruno, rita):
        person.context.close()


def annotations(data: bytes) -> set[tuple[str, str, int]]:
    found = set()
    for line in data.decode().splitlines():
        _, fields, quote = line.split("\t")
        code, start, _ = fields.split(" ")
        found.add((code, quote, int(start)))
    return found
