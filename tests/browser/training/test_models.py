"""From frozen gold to a trained model, its run and its review, in Chromium; axe-core on the pages of models."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.gold.services.making import freeze
from annotations.jobs.runner import run as work
from annotations.models import Project
from models_runtime.models import Run, TrainedModel
from tests import factories as make

NAMES = ["Anna Bianchi", "Luis Otero", "Marco Rossi", "Eva Sanz", "Paolo Conti"]
TOWNS = ["Madrid", "Burgos", "Torino", "Bari"]


@pytest.fixture
def project(transactional_db: None) -> Project:
    """Twelve gold notes of twelve patients, frozen, and one without gold."""
    made = make.make_project("ward", name="Ward")
    gold = make.make_author(made, kind="gold", name="gold")
    for number in range(12):
        name, town = NAMES[number % 5], TOWNS[number % 4]
        text = f"Paziente: {name}, di {town}.\nDolore toracico, riposo.\n"
        note = make.make_note(made, text, f"caso-{number:02}", language="it")
        town_at = text.index(town)
        make.make_set(
            note, gold, [(10, 10 + len(name), "PATIENT"), (town_at, town_at + len(town), "CITY")], submitted=True
        )
    freeze(project=made, actor=None)
    make.make_note(made, "Paziente: Rita Neri, di Torino.\nControllo.\n", "nuovo", language="it")
    return made


def check(page: Page, axe: Any) -> None:
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.both_databases
def test_train_run_review(project: Project, page_of: Any, live: Any, axe: Any, settings: Any, tmp_path: Any) -> None:
    settings.REDIS_URL = f"unix://{tmp_path}/none.sock"
    page = page_of(make.make_member(project, "manager", "boss"))
    page.goto(live("models", "ward"))
    check(page, axe)
    page.get_by_label("Name (optional)", exact=True).fill("Ward model")
    page.get_by_role("button", name="Start training").click()
    expect(page.get_by_text("In training")).to_be_visible()
    # The worker: the page asks every second, and shows the outcome by itself.
    work(TrainedModel.objects.get().job_id or 0)
    expect(page.get_by_role("heading", name="Scores on held-out notes")).to_be_visible()
    expect(page.get_by_role("img", name="Loss by iteration")).to_be_visible()
    check(page, axe)
    page.set_viewport_size({"width": 390, "height": 800})
    page.emulate_media(color_scheme="dark")
    check(page, axe)
    # Codes of labels are not broken, however long.
    codes = page.locator("#scores-title ~ .table-box th code")
    codes.evaluate_all("all => all.forEach((code) => { code.append('_OTHER'); })")
    assert [code.evaluate("one => one.getClientRects().length") for code in codes.all()] == [1] * codes.count()
    assert codes.count() >= 2
    page.goto(live("models", "ward"))
    check(page, axe)
    page.set_viewport_size({"width": 1440, "height": 900})
    page.get_by_role("link", name="Ward model").click()
    page.get_by_role("button", name="Run on all notes").click()
    expect(page.get_by_role("heading", name="Ward model-1")).to_be_visible()
    run = Run.objects.get()
    work(run.job_id or 0)
    expect(page.get_by_role("link", name="Review suggestions")).to_be_visible()
    note = project.documents.get(name="nuovo")
    page.goto(live("review", "ward", run.author_id, note.pk))
    expect(page.get_by_role("button", name="Rita Neri")).to_be_visible()


def test_two_members_vote_by_keys_alone(project: Project, page_of: Any, live: Any, axe: Any, settings: Any) -> None:
    settings.REDIS_URL = "unix:///nowhere/none.sock"
    note = project.documents.get(name="nuovo")
    for name in ("one", "two"):
        author = make.make_author(project, kind="run", name=name)
        make.make_set(note, author, [(10, 19, "PATIENT")], submitted=True)
    page = page_of(make.make_member(project, "manager", "boss"))
    page.goto(live("runs", "ward"))
    page.get_by_role("link", name="Combine backends").press("Enter")
    page.get_by_role("radio", name="Intersection").press("Space")
    page.get_by_role("checkbox", name="one run").press("Space")
    page.get_by_role("button", name="Start combined run").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("at least 2 members")
    check(page, axe)
    page.set_viewport_size({"width": 390, "height": 800})
    page.emulate_media(color_scheme="dark")
    check(page, axe)
    page.get_by_role("checkbox", name="two run").press("Space")
    page.get_by_role("button", name="Start combined run").press("Enter")
    expect(page.get_by_role("heading", name="ensemble-intersection-1")).to_be_visible()
    work(Run.objects.get().job_id or 0)
    expect(page.get_by_role("link", name="Review suggestions")).to_be_visible()
    check(page, axe)
