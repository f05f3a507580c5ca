"""The form of refinements shows and sends the settings of the chosen method only, in Chromium with axe-core."""

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import expect

from models_runtime.backends.llm.servers import read_servers
from models_runtime.models import Refinement
from tests.browser.injecting.test_bench import check, no_redis
from tests.refining.conftest import ward

__all__ = ["no_redis", "ward"]


@pytest.mark.django_db(transaction=True)
def test_the_settings_of_the_chosen_method(
    ward: SimpleNamespace, page_of: Any, live: Any, axe: Any, settings: Any
) -> None:
    listed = {"DEIDREVIEW_LLM_SERVERS": "ward=http://127.0.0.1:9/v1", "DEIDREVIEW_LLM_WARD_MODELS": "small"}
    settings.LLM_SERVERS = read_servers(listed)
    page = page_of(ward.mia)
    page.goto(live("refinements", "ward"))
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
    check(page, axe, "agent")
    page.get_by_role("button", name="Start refinement").click()
    # The number of examples was not sent: the agent has none. A setting with an error stays in view.
    expect(page.get_by_text("Enter a whole number from 1 to 2147483647.", exact=True)).to_be_visible()
    expect(page.get_by_text("The agent has no examples")).to_have_count(0)
    page.get_by_label("Method").select_option("single")
    expect(steps).to_be_visible()
    check(page, axe, "error")
    page.get_by_label("Method").select_option("agent")
    steps.fill("7")
    page.get_by_role("button", name="Start refinement").click()
    expect(page.get_by_text("Waiting for a worker")).to_be_visible()
    row = Refinement.objects.get()
    assert (row.method, row.switched_off, row.params["steps"]) == ("agent", ["memory"], 7)
