"""Language strategies side by side, and a training on gold of several projects, in Chromium."""

import io
from typing import Any

import pytest
from playwright.sync_api import expect

from annotations.core.stored_files import store_file
from annotations.gold.services.making import freeze
from models_runtime.models import TrainedModel
from tests import factories as make
from tests.worlds.strategies import make_ward

SIZES = [(1440, "light"), (1440, "dark"), (390, "light"), (390, "dark")]


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_strategies_and_other_projects(
    transactional_db: None, page_of: Any, live: Any, axe: Any, width: int, scheme: str
) -> None:
    ward = make_ward()
    clinic = make.make_project("clinic", name="Clinic for children", language="en")
    mia = make.make_member(ward, "manager", "mia")
    make.make_member(clinic, "manager", mia)
    gold = make.make_author(clinic, kind="gold", name="gold")
    note = make.make_note(clinic, "Seen by Dr. Smith.", "case-1", patient_id="p1", language="en")
    make.make_set(note, gold, [(12, 17, "DOCTOR")], submitted=True)
    version, _ = freeze(project=clinic, actor=None)
    page = page_of(mia, viewport={"width": width, "height": 900}, color_scheme=scheme)

    def check() -> None:
        assert axe(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    page.goto(live("runs_compare", "ward"))
    page.get_by_role("link", name="Language strategies").click()
    page.get_by_label("Language of the notes").select_option("it")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", name="F1 on 2 notes")).to_be_visible()
    expect(page.get_by_role("row", name="two BiLSTM-CRF EN→IT")).to_contain_text("1.0000")
    expect(page.get_by_role("cell", name="0.8391")).to_be_visible()
    check()

    page.goto(live("models", "ward"))
    page.get_by_role("checkbox", name="Clinic for children: Version 1").check()
    check()
    page.get_by_text("Averaged perceptron").click()
    page.get_by_role("button", name="Start training").click()
    expect(page.get_by_role("heading", name="crf-1")).to_be_visible()

    # What the page of a finished model and the erasure of a patient say about it.
    model = TrainedModel.objects.get(name="crf-1")
    assert model.params["also"] == [version.pk]
    stored = store_file(project=ward, kind="model", name="m.zip", content=io.BytesIO(b"weights"), actor=None)
    own = ward.gold_versions.get()
    TrainedModel.objects.filter(pk=model.pk).update(
        state="ready", stored_file=stored,
        card={
            "gold": 1, "gold_hash": own.content_hash, "notes": 4, "spans": 8, "held_out": 2, "seed": "s", "erased": 1,
            "held_out_notes": [], "algorithm": "ap", "label_set": "test", "labels": ["DOCTOR"], "sha256": "a" * 64,
            "also": [
                {"project": clinic.pk, "gold": 1, "gold_hash": version.content_hash, "notes": 1, "spans": 1,
                 "held_out": 0, "left_out": 2, "no_label": 3, "erased": 0},
            ],
        },
    )  # fmt: skip
    page.goto(live("model", "ward", model.pk))
    expect(page.get_by_role("link", name="Clinic for children, gold version 1")).to_be_visible()
    expect(page.get_by_text("were erased or deleted since")).to_be_visible()
    check()
    page.goto(live("patients", "clinic"))
    page.get_by_label("Patient ID").first.fill("p1")
    page.get_by_role("button", name="Preview erasure").click()
    expect(page.get_by_role("heading", name="Models of other projects")).to_be_visible()
    expect(page.get_by_role("link", name="crf-1")).to_be_visible()
    check()
