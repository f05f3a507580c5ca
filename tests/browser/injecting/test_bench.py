"""Inject errors, refine the copy, read who caught what: in Chromium, at both widths, in both schemes, with axe-core."""

import os
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.jobs.runner import run as work
from annotations.models import Job
from models_runtime.models import InjectedRun, Refinement
from tests import factories as make
from tests.refining.conftest import note_of, ward

__all__ = ["ward"]


@pytest.fixture
def no_redis(monkeypatch: Any) -> None:
    """Jobs wait; each test does them itself."""


def check(page: Page, axe: Any, name: str) -> None:
    for width, scheme in ((1440, "light"), (1440, "dark"), (390, "light"), (390, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert axe(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        if folder := os.environ.get("SHOTS"):
            page.screenshot(path=f"{folder}/{name}-{width}-{scheme}.png", full_page=True)


@pytest.mark.django_db(transaction=True)
def test_from_the_runs_to_the_span_that_nobody_caught(ward: SimpleNamespace, page_of: Any, live: Any, axe: Any) -> None:
    ann = make.make_member(ward.project, user="ann")
    for number in range(20):
        _text, spans = note_of(number)
        make.make_set(ward.notes[number], ann, spans[:4], submitted=True)
    page = page_of(ward.mia)
    page.goto(live("runs", "ward"))
    page.get_by_role("main").get_by_role("link", name="Injected errors").click()
    expect(page.get_by_role("heading", name="No injected errors yet")).to_be_visible()
    check(page, axe, "none")
    boxes = page.get_by_role("checkbox").all()
    for box in boxes:
        box.uncheck()
    page.get_by_role("button", name="Inject errors").click()
    expect(page.get_by_role("alert")).to_contain_text("Choose at least one rule.")
    check(page, axe, "wrong")
    for box in boxes:
        box.check()
    page.get_by_label("Errors per gold span").fill("0.3")
    page.get_by_role("button", name="Inject errors").dblclick()
    expect(page.get_by_text("Waiting for a worker")).to_be_visible()
    work(InjectedRun.objects.get().job_id)
    page.get_by_role("link", name="Refine this copy").click()
    expect(page.get_by_role("combobox", name="Annotations of")).to_have_value(str(InjectedRun.objects.get().author_id))
    for count in (1, 2):
        page.get_by_role("button", name="Start refinement").dblclick()
        expect(page.get_by_role("heading", name="Refinement")).to_be_visible()
        assert Job.objects.filter(kind="refine").count() == count
        work(Refinement.objects.first().job_id)
        page.reload()
        check(page, axe, "job")
        page.get_by_role("link", name="Show refinements").click()
    expect(page.get_by_role("table", name="Decisions, calls, time, tokens and cost")).to_contain_text("Input tokens")
    page.get_by_text("Published figures").click()
    check(page, axe, "refinements")
    page.get_by_role("table", name="Refinements").get_by_role("link", name="Show figures").first.click()
    table = page.get_by_role("table", name="Share of injected errors")
    expect(table.get_by_role("row")).to_have_count(14)
    expect(table).to_contain_text("20 notes left out")
    check(page, axe, "bench")
    # The keyboard reaches a figure and opens its errors.
    figure = table.get_by_role("row", name="Patients as doctors").get_by_role("link").last
    figure.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Patients as doctors")
    expect(page.locator("mark").first).to_be_visible()
    check(page, axe, "errors")
    page.get_by_role("link", name="caso-").first.click()
    expect(page.get_by_role("main")).to_contain_text("Paziente")
