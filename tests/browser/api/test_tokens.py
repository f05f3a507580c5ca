"""API tokens in Chromium: created, copied and revoked by keyboard, wide and light, narrow and dark."""

from typing import Any

import pytest
from playwright.sync_api import expect

from annotations.models import ApiToken
from tests import factories as make


@pytest.mark.parametrize("width, scheme", [(1440, "light"), (390, "dark")])
def test_a_token_by_keyboard(
    transactional_db: None, page_of: Any, live: Any, axe: Any, width: int, scheme: str
) -> None:
    mia = make.make_member(make.make_project("covid"), "manager", "mia")
    page = page_of(
        mia,
        viewport={"width": width, "height": 900},
        color_scheme=scheme,
        permissions=["clipboard-read", "clipboard-write"],
    )

    def check() -> None:
        assert axe(page) == []
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")

    page.goto(live("api_tokens"))
    expect(page.get_by_text("You have no tokens yet.")).to_be_visible()
    check()
    page.get_by_label("Name").focus()
    page.keyboard.type("Nightly import of the ward")
    page.keyboard.press("Enter")
    token = page.locator("#token")
    expect(token).to_contain_text("deid_")
    page.get_by_role("button", name="Copy").press("Enter")
    expect(page.get_by_text("Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == token.inner_text()
    check()
    page.get_by_role("link", name="Back to API tokens").press("Enter")
    expect(page.get_by_text("never", exact=True)).to_be_visible()
    check()
    page.get_by_role("button", name="Revoke Nightly import of the ward").press("Enter")
    expect(page.get_by_text("It gives no access any more.")).to_be_visible()
    expect(page.get_by_text("Revoked", exact=True)).to_be_visible()
    assert ApiToken.objects.get().revoked_at is not None
