"""Webhooks in Chromium on a phone: adding one by keyboard, a test, the log and errors."""

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import expect

from annotations.models import Delivery, Webhook, WebhookState
from annotations.ops.services.webhooks.sending import send_now
from annotations.ops.services.webhooks.webhooks import put_in_line
from tests import factories as make
from tests.browser.widths import PHONE, fits
from tests.ops.webhooks.conftest import receiver

__all__ = ["receiver"]


@pytest.fixture
def world(transactional_db: None) -> SimpleNamespace:
    project = make.make_project("covid", name="Covid ward")
    return SimpleNamespace(project=project, mia=make.make_member(project, "manager", "mia"))


@pytest.mark.nightly
def test_from_adding_to_the_log(world: Any, page_of: Any, live: Any, axe: Any, receiver: Any) -> None:
    page = page_of(world.mia, **PHONE)
    page.goto(live("webhooks", "covid"))
    expect(page.get_by_role("heading", name="No webhooks yet")).to_be_visible()
    page.get_by_label("Address").focus()
    page.keyboard.type("https://elsewhere.example.org/hook")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("is not on the list of this instance")
    expect(page.get_by_role("alert")).to_be_focused()
    assert axe(page) == [] and fits(page)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_label("Address").fill(receiver.url("/a-rather-long-path/with-many-parts/" + "x" * 60))
    page.get_by_label("Address").press("Enter")
    expect(page.get_by_text("whsec_")).to_be_visible()
    assert fits(page)
    page.get_by_role("link", name="Open the webhook").press("Enter")
    expect(page.get_by_text("Nothing was sent yet")).to_be_visible()
    page.get_by_role("button", name="Send a test").press("Enter")
    expect(page.locator("#webhook-log").get_by_text("Waiting")).to_be_visible()
    send_now(Delivery.objects.get().pk)
    # The log is loaded again without a reload of the page.
    expect(page.locator("#webhook-log").get_by_text("Delivered")).to_be_visible()
    receiver.statuses = [503]
    (failed,) = put_in_line([Webhook.objects.get()], "job.done", {}, ("jobs", 1))
    send_now(failed.pk)
    Webhook.objects.update(state=WebhookState.STOPPED)
    page.reload()
    expect(page.get_by_text("Status 503.")).to_be_visible()
    assert fits(page)
    page.get_by_role("button", name="Switch on").press("Enter")
    page.locator("summary", has_text="Remove the webhook").press("Enter")
    page.locator(".confirm-panel").get_by_role("button", name="Remove the webhook").press("Enter")
    expect(page.get_by_text("The webhook was removed.")).to_be_visible()
