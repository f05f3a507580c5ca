"""The description of the API in Chromium: Swagger UI under the content-security policy, by keyboard, with a token."""

from typing import Any

import pytest
from playwright.sync_api import expect

from annotations.api.services.tokens import create_token
from annotations.models import ApiToken
from tests import factories as make


@pytest.mark.parametrize("width, scheme", [(1440, "light"), (390, "dark")])
def test_a_route_is_tried_by_keyboard(
    transactional_db: None, page_of: Any, live: Any, axe: Any, width: int, scheme: str
) -> None:
    mia = make.make_member(make.make_project("covid"), "manager", "mia")
    _row, secret = create_token(user=mia, name="Trial", scope=ApiToken.Scope.READ, days=1, project=None, actor=mia)
    page = page_of(mia, viewport={"width": width, "height": 900}, color_scheme=scheme)

    def check() -> None:
        assert axe(page) == []
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")

    page.goto(live("api_docs"))
    route = page.locator("#operations-Projects-list_projects")
    expect(route).to_contain_text("List the person's projects")
    check()
    authorize = page.get_by_role("button", name="Authorize").first
    authorize.press("Enter")
    expect(page.get_by_label("auth-bearer-value")).to_be_focused()
    check()
    page.keyboard.press("Escape")
    expect(authorize).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.type(secret)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Close").last.press("Enter")
    expect(authorize).to_be_focused()
    route.locator(".opblock-summary-control").press("Enter")
    route.get_by_role("button", name="Try it out").press("Enter")
    route.get_by_role("button", name="Execute").press("Enter")
    expect(route.locator(".live-responses-table")).to_contain_text('"slug": "covid"')
    check()
