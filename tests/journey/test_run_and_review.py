"""From a model run to gold: the rules suggest spans, a reviewer decides, the gold is frozen and exported as brat.

Everything is real: the run command with its Redis, worker, relay and web server, the accounts, Chromium, PostgreSQL.
"""

import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.annotate.steps import drag, painted, press, saved
from tests.waiting import in_browser

pytestmark = [pytest.mark.browser, pytest.mark.processes]
SECRET = "a-long-enough-secret-7"
NOTES = {
    "visita-001": (
        "Paziente: Mario Rossi, 54 anni, detto il Gatto.\r\n"
        "Ricoverato il 12/03/2021 all'Ospedale San Giovanni di Torino.\r\n"
        "Scrivere a reparto@example.org.\r\n"
    ),
    "visita-002": "Visto dal dott. Bianchi \U0001f3e5 il 20/03/2021.\n",
    "visita-003": "Controllo tra un mese.\n",
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


def finished_job(page: Page) -> None:
    expect(page.locator("#job-status")).to_contain_text(re.compile(r"Done|Took"))


def annotations(data: bytes) -> set[tuple[str, str, int]]:
    found = set()
    for line in data.decode().splitlines():
        _, fields, quote = line.split("\t")
        code, start, _ = fields.split(" ")
        found.add((code, quote, int(start)))
    return found


@pytest.fixture
def command(manage: Any) -> Any:
    """Run a command that must succeed. Return its output, parsed if it is JSON."""

    def run(*words: str, **changes: str) -> Any:
        done = manage(*words, **changes)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if "--json" in words else done.stdout

    return run


@pytest.fixture
def base(start: Any, command: Any, tmp_path: Path) -> str:
    """A running product with a project, its manager and three notes, all by commands."""
    product = start()
    product.wait_ready()
    command(
        "createsuperuser", "--noinput", "--username", "boss", "--email", "boss@ward.example",
        DJANGO_SUPERUSER_PASSWORD=SECRET,
    )  # fmt: skip
    command("create_project", "Ward 9", "--labels", "i2b2-2014", "--language", "it", "--manager", "boss", "--json")
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / f"{name}.txt").write_bytes(text.encode())
    command("import_documents", "ward-9", str(folder), "--format", "text", "--json")
    return f"http://127.0.0.1:{product.port}"


@pytest.fixture
def people(base: str, browser: Browser, command: Any) -> Any:
    boss, rita = Person(browser, base), Person(browser, base)
    boss.sign_in("boss")
    made = command("add_member", "ward-9", "rita", "--role", "reviewer", "--create", "--json")
    rita.choose_password(made["password_link"])
    yield boss, rita
    for person in (boss, rita):
        person.context.close()


def start_run(boss: Person) -> None:
    """Start a run as the manager, and wait until it ends."""
    page = boss.go("/projects/ward-9/")
    page.get_by_role("link", name="Models", exact=True).first.click()
    page.get_by_role("link", name="Runs", exact=True).first.click()
    expect(page.get_by_role("main")).to_contain_text("No runs yet")
    page.get_by_role("button", name="Start run").click()
    expect(page.get_by_role("heading", name="rules-1")).to_be_visible()
    expect(page.locator("#run-state")).to_contain_text("3 notes processed.", timeout=in_browser(60))


def ready(page: Page, name: str) -> list[tuple[str, str]]:
    """Wait for a note's review. Return the run's suggestions as (label, text)."""
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    page.wait_for_selector("html[data-review=ready]")
    return painted(page)


def few_requests(page: Page, act: Callable[[], object], state: str) -> None:
    """Open a working page. Joined files (deidreview.bundles) keep its requests few, also where each takes a second."""
    paths: list[str] = []
    page.on("request", lambda request: paths.append(request.url))
    act()
    page.wait_for_selector(f"html[data-{state}=ready]")
    page.wait_for_load_state("networkidle")
    assert sum(".js" in path for path in paths) == 3 and len(paths) <= 12, paths


def choose(page: Page, quote: str) -> None:
    page.locator("#suggestions button", has=page.locator(f".de-quote:text-is('{quote}')")).click()


def review_first(page: Page) -> set[tuple[str, str]]:
    """Review by mouse and keys: accept, reject, add, and accept the rest. Return the expected gold."""
    suggested = ready(page, "visita-001")
    assert {("PATIENT", "Mario Rossi"), ("DATE", "12/03/2021"), ("EMAIL", "reparto@example.org")} <= set(suggested)
    choose(page, "Mario Rossi")
    page.locator("#chosen [data-act=accept]").click()
    choose(page, "reparto@example.org")
    press(page, "x")
    drag(page, "Gatto")
    press(page, "t")
    accept_the_rest(page)
    return {one for one in suggested if one[0] != "EMAIL"} | {("PATIENT", "Gatto")}


def accept_the_rest(page: Page) -> None:
    press(page, " ")
    while page.locator("#suggestions .is-open").count():
        press(page, "a")
    saved(page)


@pytest.mark.postgresql
def test_from_a_run_to_gold(people: Any) -> None:
    boss, rita = people
    start_run(boss)

    page = rita.go("/projects/ward-9/runs/")
    few_requests(page, page.get_by_role("main").get_by_role("link", name=re.compile("^Review .")).click, "review")
    expected = {"visita-001": review_first(page)}
    page.reload()  # everything must be saved
    ready(page, "visita-001")
    assert {(label, quote) for label, quote in painted(page)} >= expected["visita-001"]
    page.get_by_role("button", name="Finish review").click()
    expected["visita-002"] = set(ready(page, "visita-002"))
    accept_the_rest(page)
    press(page, "Enter")
    ready(page, "visita-003")
    press(page, "Enter")  # without any suggestion or missed identifier
    expected["visita-003"] = set()
    expect(page.get_by_role("heading", name="rules-1 is reviewed")).to_be_visible()

    # The result: gold, frozen, exported as brat.
    page.get_by_role("link", name="Show gold").click()
    page.get_by_role("button", name="Freeze").click()
    expect(page.get_by_role("main")).to_contain_text("Gold version 1")
    page = rita.go("/projects/ward-9/export/")
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
        found = annotations(files[f"{name}.ann"])
        assert {(label, quote) for label, quote, _ in found} == expected[name]
        assert all(text[start : start + len(quote)] == quote for _, quote, start in found)
    page = rita.context.new_page()
    few_requests(page, lambda: page.goto(f"{rita.base}/projects/ward-9/notes/1/annotate/"), "workbench")
