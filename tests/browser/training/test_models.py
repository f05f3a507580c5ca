"""From frozen gold to a trained model, its run and its review, in Chromium: the one training of the browser tests."""

from typing import Any

import pytest
from playwright.sync_api import expect

from annotations.gold.services.making import freeze
from annotations.jobs.runner import run as work
from annotations.models import Project
from models_runtime.models import Run, TrainedModel
from tests import factories as make
from tests.browser.widths import fits, fits_everywhere

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


@pytest.mark.nightly
def test_train_run_review(project: Project, page_of: Any, live: Any, axe: Any, settings: Any, tmp_path: Any) -> None:
    settings.REDIS_URL = f"unix://{tmp_path}/none.sock"
    page = page_of(make.make_member(project, "manager", "boss"))
    page.goto(live("models", "ward"))
    # The form shows the settings of the chosen type of model only.
    page.locator("summary", has_text="More settings").click()
    stacked = page.get_by_role("group", name="BiLSTM-CRF with stacked embeddings")
    expect(stacked).to_be_hidden()
    page.locator("label[for^=algorithm-stacked]").first.click()
    expect(stacked).to_be_visible()
    expect(page.get_by_label("Labels of sub-words")).to_be_hidden()
    page.locator("label[for^=algorithm-transformer]").first.click()
    expect(page.get_by_label("Labels of sub-words")).to_be_visible()
    expect(stacked).to_be_hidden()
    assert fits_everywhere(page)

    page.locator("label[for^=algorithm-crf]", has_text="Averaged perceptron").click()
    page.get_by_label("Name (optional)", exact=True).fill("Ward model")
    page.get_by_role("button", name="Start training").click()
    expect(page.get_by_text("In training")).to_be_visible()
    # The worker: the page asks every second, and shows the outcome by itself.
    work(TrainedModel.objects.get().job_id or 0)
    expect(page.get_by_role("heading", name="Scores on held-out notes")).to_be_visible()
    expect(page.get_by_role("img", name="Loss by iteration")).to_be_visible()
    assert axe(page) == [] and fits(page)
    # Codes of labels are not broken, however long.
    page.set_viewport_size({"width": 390, "height": 800})
    codes = page.locator("#scores-title ~ .table-box th code")
    codes.evaluate_all("all => all.forEach((code) => { code.append('_OTHER'); })")
    assert [code.evaluate("one => one.getClientRects().length") for code in codes.all()] == [1] * codes.count()
    assert codes.count() >= 2 and fits(page)
    page.get_by_role("button", name="Run on all notes").click()
    expect(page.get_by_role("heading", name="Ward model-1")).to_be_visible()
    run = Run.objects.get()
    work(run.job_id or 0)
    expect(page.get_by_role("link", name="Review suggestions")).to_be_visible()
    assert fits(page)
    note = project.documents.get(name="nuovo")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(live("review", "ward", run.author_id, note.pk))
    expect(page.get_by_role("button", name="Rita Neri")).to_be_visible()
