"""The page of a transformer with its figures by epoch, its probe and its kept models, in Chromium with axe-core."""

import os
from typing import Any

import pytest
from playwright.sync_api import expect

from annotations.gold.services.making import freeze
from annotations.models import Project
from models_runtime.models import TrainedModel
from tests import factories as make

WORDS = [("dimesso", 0.61234), ("##to", 0.2), ("trasferito", 0.1), ("ricoverato", 0.05), ("visitato", 0.00006)]
FIGURES = {"accuracy": 0.9712, "precision": 0.85, "recall": 0.9246, "f1": None}


@pytest.fixture
def project(transactional_db: None) -> Project:
    made = make.make_project("ward", name="Ward")
    note = make.make_note(made, "Paziente: Anna Bianchi.\n", "caso", language="it")
    make.make_set(note, make.make_author(made, kind="gold", name="gold"), [(10, 22, "PATIENT")], submitted=True)
    freeze(project=made, actor=None)
    return made


@pytest.fixture
def models(project: Project) -> list[TrainedModel]:
    """A transformer after language pre-training, and what its training kept: an epoch and the language model."""
    card: Any = {
        "gold": 1, "gold_hash": "a" * 64, "notes": 1, "spans": 1, "held_out": 1, "algorithm": "weighted",
        "label_set": "it-4", "labels": ["PATIENT"], "iterations": 2, "seconds": 9.5, "sha256": "b" * 64,
        "adapted": [3.0, 2.0], "adapted_held_out": [3.5, 3.25], "held_out_before": 4.5,
        "epochs": [{"f1": 0.5, "tokens": FIGURES, "pieces": FIGURES}] * 2,
        "probe": [{"sentence": "Il paziente viene [MASK] in buone condizioni.", "before": WORDS, "after": WORDS}] * 2,
    }  # fmt: skip
    settings = {"sub_words": "every", "chunks": "disjoint", "checkpoints": True}

    def made(name: str, backend: str = "transformer", **more: Any) -> TrainedModel:
        return TrainedModel.objects.create(
            project=project, name=name, backend=backend, state=TrainedModel.State.READY,
            params={"algorithm": "weighted", "settings": settings}, gold_version=project.gold_versions.get(),
            losses=[2.0, 1.0], hold_out=[0.5, 0.5], card={**card, **more},
        )  # fmt: skip

    whole = made("Court")
    epoch = made("Court-epoch-1", made_with=whole.pk, epoch=1)
    language = made("Court-language", "masked", made_with=whole.pk, held_out_losses=[3.5, 3.25], unlabeled=3, epochs=[])
    return [whole, epoch, language]


@pytest.mark.parametrize("width, scheme", [(1440, "light"), (390, "dark")])
def test_pages_of_models_are_accessible_and_fit(
    project: Project, models: list[TrainedModel], page_of: Any, live: Any, axe: Any, width: int, scheme: str
) -> None:
    page = page_of(
        make.make_member(project, "manager", "boss"), viewport={"width": width, "height": 900}, color_scheme=scheme
    )
    for model in models:
        page.goto(live("model", "ward", model.pk))
        expect(page.get_by_role("heading", name="Fill-mask probe")).to_be_visible()
        assert axe(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        if folder := os.environ.get("SHOTS"):
            page.screenshot(path=f"{folder}/{model.name}-{width}.png", full_page=True)
    page.get_by_role("link", name="Court", exact=True).click()
    expect(page.get_by_role("heading", name="Held-out notes after each epoch")).to_be_visible()
    expect(page.get_by_role("cell", name="sub-words")).to_have_count(2)
    page.get_by_role("link", name="Court-epoch-1").click()
    expect(page.get_by_text("This is the state after epoch 1 of another model.")).to_be_visible()
    page.goto(live("models", "ward"))
    page.get_by_text("More settings").click()
    expect(page.get_by_label("Labels of sub-words")).to_be_visible()
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if folder := os.environ.get("SHOTS"):
        page.screenshot(path=f"{folder}/form-{width}.png", full_page=True)
