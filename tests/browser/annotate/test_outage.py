"""The server dies while somebody labels, and returns: every span is saved once, in order, as the page says.

The test starts the product in processes (tests/product) and kills them. They stay away for OUTAGE_SECONDS, which are
few by default, since only the number of the page's attempts depends on the length of an outage.
"""

import json
import os
import time

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.annotate.steps import press, reload, saved
from tests.waiting import in_browser
from tests.worlds.product import environ, manage, prepared, start

__all__ = ["environ", "manage", "prepared", "start"]
# By day, test_saving.py has the same page on a line that fails and returns, and tests/product kills the servers.
pytestmark = [pytest.mark.processes, pytest.mark.nightly]
SECRET = "a-long-enough-secret-7"
AWAY = float(os.environ.get("OUTAGE_SECONDS", "0"))
SPANS, BEFORE, MEANWHILE = 50, 8, 36
WORDS = [f"parola{number:02}" for number in range(SPANS)]
TEXT = "\r\n".join(" ".join(WORDS[at : at + 5]) for at in range(0, SPANS, 5))
KEPT = """
import json
from annotations.models import Event, Span
made = [event.data["after"] for event in Event.objects.filter(verb="span.created").order_by("pk")]
spans = sorted(Span.objects.values_list("start", "end"))
print(json.dumps({"made": made, "spans": spans, "events": Event.objects.filter(verb__startswith="span.").count()}))
"""


@pytest.fixture
def product(start, manage, tmp_path):
    running = start().wait_ready()
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "nota.txt").write_bytes(TEXT.encode())
    commands = [
        ("createsuperuser", "--noinput", "--username", "ann", "--email", "ann@ward.example"),
        ("create_project", "ward", "--labels", "i2b2-2014"),
        ("add_member", "ward", "ann", "--role", "annotator"),
        ("import_documents", "ward", str(folder), "--format", "text"),
    ]
    # In one process: to start Django takes longer than any of them.
    script = f"from django.core.management import call_command\nfor words in {commands!r}:\n    call_command(*words)"
    done = manage("shell", "-v", "0", "-c", script, DJANGO_SUPERUSER_PASSWORD=SECRET)
    assert done.returncode == 0, done.stderr
    return running


def signed_in(browser: Browser, base: str) -> Page:
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.set_default_timeout(in_browser())
    page.goto(f"{base}/accounts/login/")
    page.fill("input[name=login]", "ann")
    page.fill("input[name=password]", SECRET)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_selector("html[data-workbench=ready]")
    return page


def test_a_server_that_dies_loses_nothing(product, start, manage, browser):
    page = signed_in(browser, f"http://127.0.0.1:{product.port}")
    state = page.locator("#save-state")
    key = page.locator("#side .wb-label kbd").first.inner_text()

    def label(count: int) -> None:
        for _ in range(count):
            press(page, "ArrowRight", "Shift+ArrowRight", key)  # a word here is letters, then digits

    label(BEFORE)
    product.kill_all()  # Requests in progress are cut off.
    label(MEANWHILE)
    expect(state).to_contain_text("Offline")
    said = page.evaluate_handle(
        """() => {
            const said = [];
            const node = document.getElementById("save-state");
            new MutationObserver(() => said.push(node.textContent)).observe(node, { childList: true });
            return said;
        }"""
    )
    expect(page.locator("#note .span")).to_have_count(BEFORE + MEANWHILE)
    waiting = int(state.inner_text().removeprefix("Offline, ").removesuffix(" waiting"))
    assert MEANWHILE <= waiting <= BEFORE + MEANWHILE
    time.sleep(AWAY)
    label(SPANS - BEFORE - MEANWHILE)
    expect(state).to_have_text(f"Offline, {waiting + SPANS - BEFORE - MEANWHILE} waiting")
    assert not [words for words in said.json_value() if not words.startswith("Offline")]

    start().wait_ready()
    page.evaluate("window.dispatchEvent(new Event('online'))")
    saved(page)
    expect(page.locator("#notice")).to_contain_text("All changes are saved")
    kept = json.loads(manage("shell", "-v", "0", "-c", KEPT).stdout)
    expected = [(TEXT.index(word), TEXT.index(word) + len(word)) for word in WORDS]
    assert [tuple(bounds) for bounds in kept["spans"]] == expected
    assert [tuple(after[:2]) for after in kept["made"]] == expected
    assert kept["events"] == SPANS
    reload(page)
    expect(page.locator("#note .span")).to_have_text(WORDS)
    page.context.close()
