"""Projects, notes, gold, export and audit in Chromium: charts, refused forms, and what htmx adds."""

import io
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from annotations.core.stored_files import store_file
from annotations.gold.services.making import freeze, make_gold
from annotations.models import AnnotationSet, AuthorKind, Job, JobState
from models_runtime.backends.llm.servers import read_servers
from models_runtime.core import external
from models_runtime.core.external import ExternalModel
from models_runtime.core.registry import PIPELINE
from models_runtime.models import Run, TrainedModel
from models_runtime.training.services.training import start_training
from tests import factories as make

HOUR = timedelta(hours=1)
ROSSI = (0, 11, "PATIENT")
SMALL = ExternalModel(PIPELINE, "small", "small", ("LOC", "PER"), "it", "1.0", "Somebody's names & towns.")


@pytest.fixture
def world(transactional_db: None, settings: Any, monkeypatch: Any) -> SimpleNamespace:
    """Sixty notes, two pages of the list. Ann submitted the first two, Ben also the first; the second is gold."""
    listed = {"SERVERS": "a=http://127.0.0.1:9/v1 b=http://llm.example.org/v1", "A_MODELS": "m", "B_MODELS": "m"}
    settings.LLM_SERVERS = read_servers({f"DEIDREVIEW_LLM_{name}": value for name, value in listed.items()})
    monkeypatch.setitem(external.FOUND, PIPELINE, lambda: [SMALL])
    project = make.make_project("covid", name="Covid ward")
    ann, ben = (make.make_member(project, user=name) for name in ("ann", "ben"))
    mia, rev = make.make_member(project, "manager", "mia"), make.make_member(project, "reviewer", "rev")
    notes = [make.make_note(project, name=f"caso-{n:03}", language="it", annotators=[ann]) for n in range(1, 61)]
    sets = [make.make_set(note, ann, [ROSSI], submitted=True) for note in notes[:2]]
    make.make_set(notes[0], ben, [(13, 15, "AGE")], submitted=True)
    make_gold(document=notes[1], annotation_set=sets[1], actor=rev)
    freeze(project=project, actor=rev, reason="First")
    run = Run.objects.create(
        project=project, author=make.make_author(project, kind="run", name="rules-1"), backend="rules", revision="1"
    )
    make.make_set(notes[1], run.author, [ROSSI, (44, 50, "CITY")], submitted=True)
    make.make_calibration(run, project.gold_versions.get())
    store_file(project=project, kind="export", name="covid-gold.zip", content=io.BytesIO(b"zip"), actor=rev)
    model = in_training(project)
    return SimpleNamespace(project=project, model=model, notes=notes, ann=ann, ben=ben, mia=mia, rev=rev)


def in_training(project: Any) -> TrainedModel:
    """A spaCy model after three epochs of ten."""
    model = start_training(project=project, gold=1, actor=None, key="k", backend="spacy")
    TrainedModel.objects.filter(pk=model.pk).update(losses=[0.4, 0.2, 0.1], hold_out=[0.5, 0.7, 0.75])
    Job.objects.filter(pk=model.job_id).update(
        state=JobState.RUNNING, done=3, total=11, started_at=timezone.now(), lease_until=timezone.now() + HOUR
    )
    return model


@pytest.mark.nightly
def test_a_refused_form_leads_to_its_fields(world: SimpleNamespace, page_of: Any, live: Any, axe: Any) -> None:
    """The errors are at the top, focused, each with a link to its field; the page stays accessible and fits."""
    page = page_of(world.mia, viewport={"width": 390, "height": 900}, color_scheme="dark")

    def check() -> None:
        assert axe(page) == []
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")

    page.goto(live("models", "covid"))
    page.locator("label[for^=algorithm-bilstm]").first.click()
    page.locator("summary", has_text="More settings").click()
    page.locator("#train-grouping").evaluate("field => { field.max = 99 }")
    page.locator("#train-grouping").fill("77")
    page.get_by_role("button", name="Start training").click()
    expect(page.get_by_role("alert")).to_contain_text("Training was not started.")
    expect(page.get_by_role("alert")).to_be_focused()
    check()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.url.endswith("#train-grouping")
    expect(page.locator("#train-grouping")).to_have_attribute("aria-invalid", "true")
    for name, button in (
        ("run_combine", "Start combined run"),
        ("run_llm", "Run on all notes"),
        ("judge", "Ask judges"),
    ):
        page.goto(live(name, "covid"))
        page.locator("form[method=post]").last.evaluate("form => { form.noValidate = true }")
        if name == "run_llm":
            page.locator("[name=omega]").fill("3")
        page.get_by_role("button", name=button).click()
        expect(page.get_by_role("alert")).to_be_focused()
        check()


def test_filters_pages_and_searches_have_addresses_without_text(
    world: SimpleNamespace, page_of: Any, live: Any
) -> None:
    page: Page = page_of(world.rev)
    page.goto(live("notes", "covid"))
    rows = page.locator("#notes tbody tr")
    expect(rows).to_have_count(50)
    page.get_by_role("link", name="Next").focus()
    page.keyboard.press("Enter")
    expect(rows).to_have_count(10)
    assert page.url.endswith(f"?after={world.notes[49].pk}")
    # There is no link to a next page to focus, so the list has the focus, once htmx has processed its links.
    expect(page.locator("#notes")).to_be_focused()
    page.get_by_role("link", name="Gold", exact=True).nth(1).press("Enter")
    expect(rows).to_have_count(1)
    expect(page.locator("#show-gold")).to_be_focused()
    page.get_by_label("Note name").fill("so-01")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Names containing")).to_be_visible()
    expect(rows).to_have_count(10)
    assert "?found=" in page.url and "so-01" not in page.url
    page.reload()
    expect(rows).to_have_count(10)
    page.get_by_role("link", name="Show all notes").press("Enter")
    expect(rows).to_have_count(50)
    expect(page.locator("#notes")).to_be_focused()  # in place of the removed link
    expect(page.get_by_label("Note name")).to_have_value("")
    page.go_back()
    expect(rows).to_have_count(10)
    page.go_back()
    expect(rows).to_have_count(1)


def test_gold_is_made_and_replaced_by_keys_alone(world: SimpleNamespace, page_of: Any, live: Any) -> None:
    page: Page = page_of(world.rev)
    page.goto(live("note", "covid", world.notes[0].pk) + "?state=no-gold")
    page.get_by_role("button", name="Make gold", exact=True).press("Enter")
    expect(page.locator("#messages")).to_contain_text("are now gold")
    page.get_by_role("link", name="ben").press("Enter")
    expect(page.get_by_text("Only in gold").first).to_be_visible()
    page.locator("summary", has_text="Replace gold").press("Enter")
    expect(page.get_by_text("1 gold span is removed")).to_be_visible()
    page.get_by_role("button", name="Keep it as it is").press("Enter")
    expect(page.locator("summary", has_text="Replace gold")).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Replace gold").press("Enter")
    expect(page.locator("#messages")).to_contain_text("The annotations of ben are now gold")
    gold = AnnotationSet.objects.get(document=world.notes[0], author__kind=AuthorKind.GOLD)
    assert list(gold.spans.values_list("start", "end")) == [(13, 15)]
