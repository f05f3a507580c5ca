"""Figures by pass of a run in Chromium: the chart, its figures as text, and no accessibility errors."""

import itertools
from typing import Any

import pytest
from playwright.sync_api import expect

from annotations.models import Span
from tests import factories as make

ROSSI, AGE, CITY = (0, 11, "PATIENT"), (13, 15, "AGE"), (29, 35, "CITY")


@pytest.mark.nightly
def test_the_chart_by_pass(transactional_db: None, page_of: Any, live: Any, axe: Any) -> None:
    project = make.make_project("covid", name="Covid ward", language="it")
    mia = make.make_member(project, "manager", "mia")
    gold, run = (make.make_author(project, kind=kind, name=f"{kind}-1") for kind in ("gold", "run"))
    for number in range(3):
        note = make.make_note(project, "Mario Rossi, 54 anni. Vive a Torino.", f"lettera-{number}")
        make.make_set(note, gold, [ROSSI, AGE, CITY], submitted=True)
        made = make.make_set(note, run, [ROSSI, AGE, CITY][: 3 - number], submitted=True)
        for start, passed in ((0, 1), (13, 2), (29, 3)):
            Span.objects.filter(annotation_set=made, start=start).update(source=f"small it2 pass {passed}")
    page = page_of(mia, viewport={"width": 390, "height": 844}, color_scheme="dark")
    page.goto(live("score", "covid", 0, run.pk))
    card = page.get_by_role("region", name="Figures by pass")
    chart = card.get_by_role("img", name="All-or-nothing recall by pass")
    expect(chart).to_contain_text("AGE 0.67")
    names = sorted(chart.locator(".plot-end").evaluate_all("all => all.map((one) => one.getBoundingClientRect().top)"))
    assert len(names) == 4 and all(after - before >= 12 for before, after in itertools.pairwise(names))
    expect(card.get_by_role("row", name="AGE")).to_contain_text("0.6667")
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
