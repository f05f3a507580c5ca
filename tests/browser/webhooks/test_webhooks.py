"""Webhooks in Chromium: adding one by keyboard, a test, the log and errors, in light and dark and at narrow widths."""

import os
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import expect

from annotations.models import Delivery, Webhook
from annotations.webhooks.selectors.kinds import KINDS
from annotations.webhooks.services.recording import put_in_line
from annotations.webhooks.services.sending import send_now
from annotations.webhooks.services.webhooks import add_webhook
from models_runtime.backends.remote.servers import read_remote_models
from tests import factories as make
from tests.webhooks.conftest import receiver

__all__ = ["receiver"]


@pytest.fixture
def world(transactional_db: None) -> SimpleNamespace:
    project = make.make_project("covid", name="Covid ward")
    return SimpleNamespace(project=project, mia=make.make_member(project, "manager", "mia"))


@pytest.mark.parametrize("width, scheme", [(1440, "light"), (390, "dark")])
def test_from_adding_to_the_log(
    world: Any, page_of: Any, live: Any, axe: Any, receiver: Any, width: int, scheme: str
) -> None:
    page = page_of(world.mia, viewport={"width": width, "height": 900}, color_scheme=scheme)

    def check(name: str) -> None:
        assert axe(page) == []
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
        if folder := os.environ.get("DOORS_SHOTS"):
            page.screenshot(path=f"{folder}/{name}-{width}.png", full_page=True)

    page.goto(live("webhooks", "covid"))
    expect(page.get_by_role("heading", name="No webhooks yet")).to_be_visible()
    check("empty")
    page.get_by_label("Address").focus()
    page.keyboard.type("https://elsewhere.example.org/hook")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("is not on the list of this instance")
    expect(page.get_by_role("alert")).to_be_focused()
    check("refused")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_label("Address").fill(receiver.url("/a-rather-long-path/with-many-parts/" + "x" * 60))
    page.get_by_label("Address").press("Enter")
    expect(page.get_by_text("whsec_")).to_be_visible()
    check("secret")
    page.get_by_role("link", name="Open the webhook").press("Enter")
    expect(page.get_by_text("Nothing was sent yet")).to_be_visible()
    check("new")
    page.get_by_role("button", name="Send a test").press("Enter")
    expect(page.locator("#webhook-log").get_by_text("Waiting")).to_be_visible()
    send_now(Delivery.objects.get().pk)
    # The log is loaded again without a reload of the page.
    expect(page.locator("#webhook-log").get_by_text("Delivered")).to_be_visible()
    receiver.statuses = [503]
    (failed,) = put_in_line([Webhook.objects.get()], "job.done", {})
    send_now(failed.pk)
    Webhook.objects.update(state=Webhook.State.STOPPED)
    page.reload()
    expect(page.get_by_text("Status 503.")).to_be_visible()
    check("stopped")
    page.get_by_role("button", name="Switch on").press("Enter")
    page.locator("summary", has_text="Remove the webhook").press("Enter")
    check("remove")
    page.locator(".confirm-panel").get_by_role("button", name="Remove the webhook").press("Enter")
    expect(page.get_by_text("The webhook was removed.")).to_be_visible()


@pytest.mark.parametrize("width, scheme", [(1440, "dark"), (390, "light")])
def test_lists_and_the_form_of_a_remote_model(
    world: Any, page_of: Any, live: Any, axe: Any, receiver: Any, settings: Any, width: int, scheme: str
) -> None:
    settings.REMOTE_MODELS = read_remote_models({
        "DEIDREVIEW_REMOTE_MODELS": "far=inception+http://models.example.org/ner",
        "DEIDREVIEW_REMOTE_FAR_LABELS": "PER LOC",
    })  # fmt: skip
    for state in Webhook.State:
        made = add_webhook(project=world.project, url=receiver.url("/" + "y" * 90), kinds=list(KINDS), actor=world.mia)
        Webhook.objects.filter(pk=made.webhook.pk).update(state=state)
    page = page_of(world.mia, viewport={"width": width, "height": 900}, color_scheme=scheme)
    for name, words in (("webhooks", ["covid"]), ("project", ["covid"]), ("run_remote", ["covid", "far"])):
        page.goto(live(name, *words))
        assert axe(page) == []
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth"), name
        if folder := os.environ.get("DOORS_SHOTS"):
            page.screenshot(path=f"{folder}/list-{name}-{width}.png", full_page=True)
