"""Errors are injected once, and the copy is refined with the settings of the chosen method, in Chromium on a phone."""

from typing import Any

import pytest
from playwright.sync_api import expect

from annotations.jobs.runner import run as work
from models_runtime.backends.llm.servers import read_servers
from models_runtime.models import InjectedRun, Refinement
from tests.browser.widths import PHONE, fits
from tests.refining.conftest import build_ward


@pytest.mark.nightly
def test_from_the_runs_to_a_refinement(
    transactional_db: None, page_of: Any, live: Any, axe: Any, settings: Any
) -> None:
    ward = build_ward()
    listed = {"DEIDREVIEW_LLM_SERVERS": "ward=http://127.0.0.1:9/v1", "DEIDREVIEW_LLM_WARD_MODELS": "small"}
    settings.LLM_SERVERS = read_servers(listed)
    page = page_of(ward.mia, **PHONE)
    page.goto(live("runs", "ward"))
    page.get_by_role("main").get_by_role("link", name="Injected errors").click()
    boxes = page.get_by_role("checkbox").all()
    for box in boxes:
        box.uncheck()
    page.get_by_role("button", name="Inject errors").click()
    expect(page.get_by_role("alert")).to_be_focused()
    assert fits(page)
    for box in boxes:
        box.check()
    page.get_by_label("Errors per gold span").fill("0.3")
    page.get_by_role("button", name="Inject errors").dblclick()
    expect(page.get_by_text("Waiting for a worker")).to_be_visible()
    work(InjectedRun.objects.get().job_id)
    # The page shows the result by itself.
    page.get_by_role("link", name="Refine this copy").click()
    expect(page.get_by_role("combobox", name="Annotations of")).to_have_value(str(InjectedRun.objects.get().author_id))

    # The form shows and sends the settings of the chosen method only.
    more = page.get_by_text("More settings")
    examples, steps = page.get_by_label("Examples in each question"), page.get_by_label("Maximum questions per note")
    expect(more).to_be_hidden()
    gold, model = page.get_by_label("Gold version"), page.get_by_label("Language model")
    expect(gold).to_be_visible()
    expect(model).to_be_hidden()
    method = page.get_by_label("Method")
    method.select_option("single")
    more.click()
    expect(steps).to_be_hidden()
    examples.fill("6")
    method.select_option("agent")
    expect(examples).to_be_hidden()
    expect(gold).to_be_hidden()
    expect(model).to_be_visible()
    page.get_by_label("Memory of earlier decisions").check()
    steps.fill("0")
    steps.evaluate("one => one.removeAttribute('min')")  # Only the server refuses it.
    page.get_by_role("button", name="Start refinement").click()
    # The number of examples was not sent: the agent has none. A setting with an error stays in view.
    expect(steps).to_have_attribute("aria-invalid", "true")
    expect(page.locator(".errorlist")).to_have_count(1)
    page.get_by_label("Method").select_option("single")
    expect(steps).to_be_visible()
    assert axe(page) == [] and fits(page)
    page.get_by_label("Method").select_option("agent")
    steps.fill("7")
    page.get_by_role("button", name="Start refinement").dblclick()
    expect(page.get_by_text("Waiting for a worker")).to_be_visible()
    row = Refinement.objects.get()
    assert (row.method, row.switched_off, row.params["steps"]) == ("agent", ["memory"], 7)
