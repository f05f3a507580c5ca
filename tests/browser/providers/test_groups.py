"""Providers in Chromium on a phone: the sign-in page with their buttons, and the roles of their groups."""

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import expect

from annotations.projects.rules import OidcProvider
from tests import factories as make
from tests.browser.widths import PHONE, fits

LONG = "cn=reviewers,ou=anesthesiology-and-intensive-care-medicine,ou=groups,dc=hospital,dc=example,dc=org"


@pytest.fixture
def world(transactional_db: None, settings: Any) -> SimpleNamespace:
    settings.SIGN_IN = tuple(
        OidcProvider(id=id, name=name, issuer=f"https://{id}.example.org", client_id="deidreview", client_secret="-")
        for id, name in (("hospital", "Hospital"), ("university", "University Medical Center of the Federal State"))
    )
    project = make.make_project("covid", name="Covid ward")
    return SimpleNamespace(project=project, mia=make.make_member(project, "manager", "mia"))


@pytest.mark.nightly
def test_groups_get_roles(world: Any, page_of: Any, live: Any, axe: Any) -> None:
    page = page_of(**PHONE)
    page.goto(live("account_login"))
    expect(page.get_by_role("link", name="Sign in with Hospital")).to_be_visible()
    expect(page.get_by_text("or with a password")).to_be_visible()
    assert axe(page) == [] and fits(page)

    page = page_of(world.mia, **PHONE)
    page.goto(live("people", "covid"))
    page.get_by_role("link", name="Roles of groups").press("Enter")
    page.get_by_role("textbox", name="Group").fill(LONG)
    page.get_by_label("Reviewer").check()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Role: Reviewer. Provider: Hospital.")).to_be_visible()
    assert fits(page)
    page.get_by_role("button", name=f"Remove {LONG}").press("Enter")
    expect(page.get_by_text("Role: Reviewer.")).to_have_count(0)
