"""The masking threshold on the page that starts a run, in Chromium: a slider with the figures of the hold-out."""

import io
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.core.stored_files import store_file
from annotations.gold.services.making import freeze
from models_runtime.models import TrainedModel, TrainedModelState
from tests import factories as make

POINTS = [
    {"threshold": None, "recall": 0.9, "precision": 1.0, "leak_free": 0.5},
    {"threshold": 0.5, "recall": 0.92, "precision": 0.995, "leak_free": 0.6},
    {"threshold": 0.1, "recall": 0.95, "precision": 0.99, "leak_free": 0.8},
    {"threshold": 0.01, "recall": 0.99, "precision": 0.9, "leak_free": None},
]


@pytest.fixture
def world(transactional_db, settings, tmp_path):
    """A project with a CRF that has figures of its hold-out at three thresholds."""
    settings.REDIS_URL = f"unix://{tmp_path}/none.sock"
    project = make.make_project("ward")
    gold = make.make_author(project, kind="gold", name="gold")
    make.make_set(make.make_note(project), gold, [(0, 11, "PATIENT")], submitted=True)
    version, _made = freeze(project=project, actor=None)
    stored = store_file(project=project, kind="model", name="m.zip", content=io.BytesIO(b"zip"), actor=None)
    model = TrainedModel.objects.create(
        project=project, name="Ward CRF", backend="crf", state=TrainedModelState.READY, gold_version=version,
        stored_file=stored, params={"algorithm": "ap"},
        card={
            "gold": 1, "gold_hash": version.content_hash, "notes": 1, "spans": 1, "held_out": 1, "algorithm": "ap",
            "label_set": "test", "labels": ["PATIENT"], "sha256": "a" * 64, "scores": {"thresholds": POINTS},
        },
    )  # fmt: skip
    return SimpleNamespace(project=project, model=model, manager=make.make_member(project, "manager", "mia"))


def opened(world: SimpleNamespace, page_of: Any, **options: Any) -> Page:
    return page_of(world.manager, "runs", "ward", **options)


def choose(page: Page, name: str) -> None:
    """Choose a backend with the keyboard."""
    page.get_by_role("radio", name=name, exact=True).focus()
    page.keyboard.press("Space")


@pytest.mark.nightly
def test_the_slider_follows_the_number_and_gives_way_to_a_wanted_figure(world, page_of, live, axe):
    page = opened(world, page_of)
    slider, figures = page.get_by_role("slider", name="Choose a threshold"), page.locator("#masking output")
    field = page.get_by_role("spinbutton", name="Threshold (optional)", exact=True)
    recall = page.get_by_role("spinbutton", name="Or: recall to reach (optional)")
    choose(page, "Ward CRF")
    field.fill("0.12")
    expect(slider).to_have_attribute("aria-valuetext", "0.1")
    expect(figures).to_contain_text("Threshold 0.1, on held-out notes")
    field.fill("")
    recall.fill("0.98")
    expect(figures).to_have_text("The threshold is chosen by the figure that you entered.")
    # A screen reader hears that, and not that there is no threshold; the keys for less turn it off.
    expect(slider).to_have_attribute("aria-valuetext", "The threshold is chosen by the figure that you entered.")
    for key in ("Home", "ArrowLeft"):
        recall.fill("0.98")
        slider.focus()
        page.keyboard.press(key)
        expect(recall).to_have_value("")
        expect(slider).to_have_attribute("aria-valuetext", "Off")
        expect(figures).to_contain_text("No threshold, on held-out notes")
    recall.fill("0.98")
    # The slider is a choice, too: it replaces the wanted recall, so that the form is not refused.
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(recall).to_have_value("")
    expect(field).to_have_value("0.5")
    assert axe(page) == []
