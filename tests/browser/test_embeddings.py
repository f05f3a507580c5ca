"""Stacked embeddings and language models in Chromium: the form, a language model, trainings that started together."""

import io
from typing import Any

import pytest
from playwright.sync_api import expect

from annotations.core.stored_files import store_file
from annotations.gold.services.making import freeze
from models_runtime.models import TrainedModel
from tests import factories as make

pytestmark = pytest.mark.django_db(transaction=True)

RATES = {"precision": 0.9, "recall": 0.8, "f1": 0.85, "gold": 40, "predicted": 38, "right": 34}
LEVELS = [{"granularity": name, "micro": RATES} for name in ("subcategory", "category", "binary")]


def made(project: Any, name: str, backend: str, card: dict[str, Any], **more: Any) -> TrainedModel:
    whole = {"gold": 1, "gold_hash": "a" * 64, "notes": 12, "spans": 90, "held_out": 30, "sha256": "b" * 64} | card
    stored = store_file(project=project, kind="model", name=f"{name}.zip", content=io.BytesIO(b"zip"), actor=None)
    version = project.gold_versions.get()
    return TrainedModel.objects.create(
        project=project, name=name, backend=backend, state="ready", card=whole, gold_version=version,
        stored_file=stored, **more,
    )  # fmt: skip


@pytest.fixture
def world(transactional_db: None) -> Any:
    project = make.make_project("covid", name="Covid ward")
    gold = make.make_author(project, kind="gold", name="gold")
    make.make_set(make.make_note(project), gold, [(0, 11, "PATIENT")], submitted=True)
    freeze(project=project, actor=None)
    losses = {"held_out_losses": [2.9, 2.2, 1.9], "unlabeled": 1_200, "scores": None, "notes": 1}
    made(project, "letters", "characters", losses, losses=[3.0, 2.1, 1.7])
    scores = {"notes": 30, "few_notes": None, "levels": LEVELS, "tokens": LEVELS, "labels": [], "characters": RATES}
    embeddings = [
        {"name": "cc.it.300.bin", "kind": "words", "sha256": "c" * 64, "dimensions": 300},
        {"name": "letters", "kind": "characters", "sha256": "d" * 64, "dimensions": 2048},
    ]
    card = {"scores": scores, "labels": ["PATIENT"], "label_set": "i2b2-2014", "embeddings": embeddings}
    params: dict[str, Any] = {"algorithm": "sgd", "settings": {"embeddings": "cc.it.300.bin,letters", "lstm": False}}
    first = made(project, "it-1", "stacked", card, params=params, losses=[9.0, 4.0], hold_out=[0.5, 0.8])
    for name, variant in (("it-1", "complete"), ("it-2", "complete"), ("it-3", "without CRF")):
        row = first if name == "it-1" else made(project, name, "stacked", card, params=params)
        TrainedModel.objects.filter(pk=row.pk).update(params=params | {"group": first.pk, "variant": variant})
    return project


@pytest.mark.parametrize("width, scheme", [(1440, "light"), (390, "dark")])
def test_its_pages_are_accessible_and_fit(
    world: Any, page_of: Any, live: Any, axe: Any, width: int, scheme: str
) -> None:
    page = page_of(make.make_member(world, "manager"), viewport={"width": width, "height": 900}, color_scheme=scheme)

    def check() -> None:
        assert axe(page) == []
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")

    page.goto(live("models", "covid"))
    page.locator("summary", has_text="More settings").click()
    group = page.get_by_role("group", name="BiLSTM-CRF with stacked embeddings")
    expect(group.get_by_label("Embeddings")).to_be_visible()
    expect(group.get_by_text("letters")).to_be_visible()
    check()
    page.get_by_role("link", name="letters").click()
    expect(page.get_by_text("Perplexity", exact=True)).to_be_visible()
    expect(page.get_by_text("Notes of the version: 1. Other notes: 1,200.")).to_be_visible()
    check()
    page.goto(live("models", "covid"))
    page.get_by_role("link", name="it-1", exact=True).click()
    together = page.get_by_role("region", name="Trainings started together")
    expect(together.get_by_role("row")).to_have_count(3)
    expect(page.get_by_text("Word vectors that are not in")).to_be_visible()
    check()
