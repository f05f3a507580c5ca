"""Ask judges by the form, wait, and show their verdicts, in Chromium on a phone."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import expect

from annotations.gold.services.making import freeze
from annotations.jobs.runner import run as work
from models_runtime.backends.llm.servers import read_servers
from models_runtime.models import Judging
from tests import factories as make
from tests.backends.llm.scripted import serving
from tests.backends.llm.test_judging import verdicts
from tests.browser.widths import PHONE, fits

TEXT = "Mario Rossi, 54 anni, prende 54 mg. Visto a Torino"
ROSSI, AGE, DOSE, CITY = (0, 11, "PATIENT"), (13, 15, "AGE"), (29, 31, "AGE"), (44, 50, "CITY")


def panel(body: dict[str, Any]) -> str:
    changed = {"Mario Rossi": "FN"} if body["model"] == "odd" else {}
    return json.dumps({"entities": verdicts(body, **changed)})


@pytest.fixture
def world(transactional_db: None, settings: Any) -> Any:
    project = make.make_project("covid", name="Covid ward")
    mia = make.make_member(project, "manager", "mia")
    gold, run = (
        make.make_author(project, kind=kind, name=name) for kind, name in (("gold", "gold"), ("run", "rules-1"))
    )
    for number in range(3):
        note = make.make_note(project, f"{TEXT} {number}.", f"caso-{number}", language="it")
        make.make_set(note, gold, [ROSSI, AGE, CITY], submitted=True)
        make.make_set(note, run, [ROSSI, AGE, DOSE], submitted=True)
    freeze(project=project, actor=mia)
    with serving(panel) as server:
        settings.LLM_SERVERS = read_servers(
            {
                "DEIDREVIEW_LLM_SERVERS": f"ward={server.url} cloud=http://llm.example.org/v1",
                "DEIDREVIEW_LLM_WARD_MODELS": "good odd",
                "DEIDREVIEW_LLM_CLOUD_MODELS": "large",
            }
        )
        yield SimpleNamespace(mia=mia)


@pytest.mark.nightly
def test_from_the_score_to_what_judges_disagree_on(world: SimpleNamespace, page_of: Any, live: Any, axe: Any) -> None:
    page = page_of(world.mia, **PHONE)
    page.goto(live("scores", "covid"))
    page.get_by_role("link", name="Judges").first.click()
    page.get_by_role("link", name="Ask judges").first.click()
    page.get_by_label("good").check()
    page.get_by_label("odd").check()
    expect(page.get_by_role("combobox", name="Rules")).to_have_value("standard")
    page.get_by_role("button", name="Ask judges").click()
    expect(page.get_by_text("Waiting for a worker")).to_be_visible()
    work(Judging.objects.get().job_id)
    expect(page.get_by_text("12 entities in 3 notes")).to_be_visible()
    assert axe(page) == [] and fits(page)
    page.get_by_role("link", name="Discarded: too few").click()
    expect(page.locator("mark")).to_have_text(["Mario Rossi"] * 3)
    assert fits(page)
    page.goto(live("judgings", "covid"))
    expect(page.get_by_role("heading", name="Accuracy and discarded entities")).to_be_visible()
    expect(page.get_by_role("table", name="Accuracy, and discarded entities")).to_contain_text("3 of 3")
    assert fits(page)
