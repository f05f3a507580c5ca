"""The masking threshold on the page that starts a run, in Chromium: a slider with the figures of the hold-out."""

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from models_runtime.models import Run, TrainedModel
from tests.training.conftest import make_job, no_redis, trained, world

__all__ = ["make_job", "no_redis", "trained", "world"]

POINTS = [
    {"threshold": None, "recall": 0.9, "precision": 1.0, "leak_free": 0.5},
    {"threshold": 0.5, "recall": 0.92, "precision": 0.995, "leak_free": 0.6},
    {"threshold": 0.1, "recall": 0.95, "precision": 0.99, "leak_free": 0.8},
    {"threshold": 0.01, "recall": 0.99, "precision": 0.9, "leak_free": None},
]


@pytest.fixture
def model(world: SimpleNamespace, trained: Any) -> TrainedModel:
    """A CRF with figures of its hold-out at three thresholds."""
    made, _job = trained(algorithm="ap", iterations=1, name="Ward CRF")
    made.card["scores"]["thresholds"] = POINTS
    made.save(update_fields=["card"])
    return made


def opened(world: SimpleNamespace, page_of: Any, live: Any, **options: Any) -> Page:
    page = page_of(world.manager, **options)
    page.goto(live("runs", "ward"))
    return page


def choose(page: Page, name: str) -> None:
    """Choose a backend with the keyboard."""
    page.get_by_role("radio", name=name, exact=True).focus()
    page.keyboard.press("Space")


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_arrow_keys_choose_the_threshold_that_the_run_starts_with(
    world: SimpleNamespace, model: TrainedModel, page_of: Any, live: Any, axe: Any, width: int, scheme: str
) -> None:
    page = opened(world, page_of, live, viewport={"width": width, "height": 900}, color_scheme=scheme)
    slider, figures = page.get_by_role("slider", name="Choose a threshold"), page.locator("#masking output")
    field = page.get_by_role("spinbutton", name="Threshold (optional)", exact=True)
    expect(slider).to_have_count(0)  # The rules have no probabilities.
    choose(page, "Ward CRF")
    expect(slider).to_have_attribute("aria-valuetext", "Off")
    expect(figures).to_have_text(
        "No threshold, on held-out notes: character recall 0.9000, precision 1.0000, leak-free notes 0.5000"
    )
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(field).to_have_value("0.1")
    expect(slider).to_have_attribute("aria-valuetext", "0.1")
    expect(figures).to_have_text(
        "Threshold 0.1, on held-out notes: character recall 0.9500, precision 0.9900, leak-free notes 0.8000"
    )
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.keyboard.press("End")
    expect(field).to_have_value("0.01")
    expect(figures).to_contain_text("recall 0.9900, precision 0.9000, leak-free notes –")
    page.keyboard.press("Home")
    expect(field).to_have_value("")
    page.keyboard.press("ArrowRight")
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Start run").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Ward CRF-above-0.5-1")).to_be_visible()
    run = Run.objects.get()
    assert (run.model_id, run.params) == (model.pk, {"threshold": 0.5})


def test_the_slider_follows_the_number_and_gives_way_to_a_wanted_figure(
    world: SimpleNamespace, model: TrainedModel, page_of: Any, live: Any, axe: Any
) -> None:
    page = opened(world, page_of, live)
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
    # With two choices, no run starts, and the error is beside the threshold.
    recall.fill("0.98")
    page.get_by_role("button", name="Start run").click()
    expect(
        page.get_by_text("Enter only one of: a threshold, a wanted recall, a wanted precision.").last
    ).to_be_visible()
    expect(slider).to_have_attribute("aria-valuetext", "0.5")
    assert axe(page) == []
    assert not Run.objects.exists()
    field.fill("")
    page.get_by_role("button", name="Start run").click()
    expect(page.get_by_role("heading", name="Ward CRF-above-0.01-1")).to_be_visible()
    assert Run.objects.get().params == {"threshold": 0.01, "threshold_for": {"recall": 0.98}}


def test_the_slider_is_there_again_after_back(
    world: SimpleNamespace, model: TrainedModel, page_of: Any, live: Any
) -> None:
    page = opened(world, page_of, live)
    choose(page, "Ward CRF")
    slider = page.get_by_role("slider", name="Choose a threshold")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.get_by_role("link", name="Combine backends").click()
    expect(page.get_by_role("heading", level=1, name="Combine")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("radio", name="Ward CRF", exact=True)).to_be_checked()
    expect(slider).to_have_attribute("aria-valuetext", "0.5")
    expect(page.get_by_role("spinbutton", name="Threshold (optional)", exact=True)).to_have_value("0.5")
