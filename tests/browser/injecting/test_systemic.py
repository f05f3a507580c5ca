"""Accept a cluster of rejected suggestions, find it among the rules, and remove it: in Chromium with axe-core."""

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import expect

from models_runtime.models import SystemicError
from tests.browser.injecting.test_bench import check, no_redis
from tests.injecting.rejected import reviewed

__all__ = ["no_redis", "reviewed"]


@pytest.mark.django_db(transaction=True)
def test_a_cluster_becomes_a_rule(reviewed: SimpleNamespace, page_of: Any, live: Any, axe: Any) -> None:
    page = page_of(reviewed.mia)
    page.goto(live("injections", "ward"))
    page.get_by_role("main").get_by_role("link", name="Systemic errors").click()
    clusters = page.get_by_role("region", name="Cluster")
    expect(clusters).to_have_count(2)
    clubs = clusters.filter(has_text="Real Betis")
    expect(clubs).to_contain_text("6 rejected suggestions. 5 are shown.")
    expect(clubs.get_by_text("Socio del club de fútbol").first).to_be_visible()
    clubs.get_by_label("Name").fill("Clubs!")
    clubs.get_by_role("button", name="Accept").click()
    expect(clubs).to_contain_text("The name must begin with a lowercase letter")
    check(page, axe, "systemic-wrong")
    clubs.get_by_label("Name").fill("clubs")
    clubs.get_by_role("button", name="Accept").click()
    expect(page.locator("#messages")).to_contain_text("Accepted as the rule systemic:clubs.")
    table = page.get_by_role("table", name="Accepted systemic errors by name")
    expect(table).to_contain_text("systemic:clubs")
    expect(clubs).to_contain_text("Accepted as the rule systemic:clubs.")
    expect(page.get_by_role("button", name="Accept cluster")).to_have_count(1)
    check(page, axe, "systemic")
    page.get_by_role("main").get_by_role("link", name="Inject errors").click()
    expect(page.get_by_role("checkbox", name="Systemic: clubs")).to_be_visible()
    check(page, axe, "injections")
    page.go_back()
    table.get_by_role("button", name="Remove clubs").click()
    expect(table).to_have_count(0)
    expect(page.get_by_role("button", name="Accept cluster")).to_have_count(2)
    assert not SystemicError.objects.exists()
