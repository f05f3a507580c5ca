"""API tokens and the description of the API in Chromium, by keyboard on a phone."""

from typing import Any

import pytest
from playwright.sync_api import Route, expect

from annotations.models import ApiToken
from tests import factories as make
from tests.browser.widths import PHONE, fits


def with_projects_only(route: Route) -> None:
    answer = route.fetch()
    described = answer.json()
    described["paths"] = {path: ways for path, ways in described["paths"].items() if "Projects" in str(ways)}
    route.fulfill(response=answer, json=described)


@pytest.mark.nightly
def test_a_token_is_made_tried_and_revoked_by_keyboard(transactional_db: None, page_of: Any, live: Any) -> None:
    mia = make.make_member(make.make_project("covid"), "manager", "mia")
    page = page_of(mia, **PHONE, permissions=["clipboard-read", "clipboard-write"])
    page.goto(live("api_tokens"))
    page.get_by_label("Name").focus()
    page.keyboard.type("Nightly import of the ward")
    page.get_by_label("Your password").focus()
    page.keyboard.type(make.PASSWORD)
    page.keyboard.press("Enter")
    token = page.locator("#token")
    expect(token).to_contain_text("deid_")
    secret = token.inner_text()
    page.get_by_role("button", name="Copy").press("Enter")
    expect(page.get_by_text("Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == secret
    assert fits(page)

    # Swagger UI runs under the content-security policy. It draws all routes anew after each act, so it gets one tag;
    # tests/browser/test_axe.py opens the page with all of them.
    page.route("**/openapi.json", with_projects_only)
    page.goto(live("api_docs"))
    route = page.locator("#operations-Projects-list_projects")
    expect(route).to_contain_text("List the person's projects")
    authorize = page.locator("button.authorize").first
    authorize.press("Enter")
    expect(page.get_by_label("auth-bearer-value")).to_be_focused()
    assert fits(page)
    page.keyboard.type(secret)
    page.keyboard.press("Enter")
    page.locator(".dialog-ux .btn-done").press("Escape")
    expect(authorize).to_be_focused()
    route.locator(".opblock-summary-control").press("Enter")
    route.get_by_role("button", name="Try it out").press("Enter")
    route.get_by_role("button", name="Execute").press("Enter")
    expect(route.locator(".live-responses-table")).to_contain_text('"slug": "covid"')
    assert fits(page)

    page.goto(live("api_tokens"))
    page.get_by_role("button", name="Revoke Nightly import of the ward").press("Enter")
    expect(page.get_by_text("Revoked", exact=True)).to_be_visible()
    assert ApiToken.objects.get().revoked_at is not None
