"""Fixtures for browser tests: Chromium on the live server, signed-in pages, and axe-core.

    def test_x(page_of, live): page = page_of(user); page.goto(live("annotate", slug, pk))

A page that logs an error or violates the content-security policy fails its test.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.signals import request_finished, request_started
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Browser, BrowserContext, Error, Page, expect

from annotations.models import User
from tests.chromium import chromium
from tests.waiting import STEP, Patience, in_browser

VIEWPORT = {"width": 1440, "height": 900}
# Contexts that wait for another test. Each has a process with scripts in memory.
MOST = 5
# A tab keeps what pages stored in it. Only a page of the server can remove that, so the first one does.
FRESH = "fresh-tab"
FORGET = f"""(() => {{
    if (location.protocol !== "http:" || !document.cookie.includes("{FRESH}=")) return;
    document.cookie = "{FRESH}=; path=/; max-age=0";
    localStorage.clear();
    sessionStorage.clear();
}})();"""


class Tab:
    """A page in a context of its own, and what is to be undone after a test."""

    def __init__(self, browser: Browser, options: dict[str, Any]) -> None:
        self.options = options
        self.context: BrowserContext = browser.new_context(viewport=VIEWPORT, **options)
        self.context.add_init_script(FORGET)
        self.page: Page = self.context.new_page()
        self._listeners: list[tuple[str, Callable[..., Any]]] = []
        self._heard_by: Callable[[str], None] = list[str]().append
        self.page.on("console", lambda message: message.type == "error" and self._heard_by(message.text))
        self.page.on("pageerror", lambda error: self._heard_by(str(error)))
        for name in ("on", "once"):
            setattr(self.page, name, self._remembering(getattr(self.page, name)))

    def _remembering(self, listen: Callable[..., None]) -> Callable[..., None]:
        def remember(event: str, listener: Callable[..., Any]) -> None:
            self._listeners.append((event, listener))
            listen(event, listener)

        return remember

    def prepare(self, url: str, heard_by: Callable[[str], None], viewport: Any, color_scheme: Any) -> Page:
        self._heard_by = heard_by
        self.page.set_default_timeout(in_browser())
        self.page.set_viewport_size(viewport or VIEWPORT)
        self.page.emulate_media(media="null", color_scheme=color_scheme or "light", reduced_motion="no-preference")
        self.context.add_cookies([{"name": FRESH, "value": "1", "url": url}])
        return self.page

    def clear(self) -> None:
        """Undo all that a test did. Raises an error if the test closed the page."""
        for event, listener in self._listeners:
            with suppress(KeyError):  # a listener that was called once
                self.page.remove_listener(event, listener)
        self._listeners.clear()
        for page in self.context.pages:
            if page is not self.page:
                page.close()
        self.page.unroute_all(behavior="ignoreErrors")
        self.context.unroute_all(behavior="ignoreErrors")
        self.context.set_offline(False)
        self.page.goto("about:blank")
        self.page.mouse.move(0, 0)
        self.context.clear_cookies()


class Kept:
    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: list[Tab] = []
        self._used: list[Tab] = []

    def tab(self, **options: Any) -> Tab:
        """Return a tab that no one uses, made with these options of Playwright's contexts."""
        tab = next((each for each in self._free if each.options == options), None)
        if tab:
            self._free.remove(tab)
        else:
            tab = Tab(self._browser, options)
        self._used.append(tab)
        return tab

    def give_back(self) -> None:
        """Clear the tabs in use, the first one last, so that the next test gets it first."""
        while self._used:
            tab = self._used.pop()
            try:
                tab.clear()
            except Error:
                tab.context.close()
            else:
                self._free.insert(0, tab)
        for tab in self._free[MOST:]:
            tab.context.close()
        del self._free[MOST:]

    def close(self) -> None:
        for tab in self._free + self._used:
            tab.context.close()


@contextmanager
def keeping(browser: Browser) -> Iterator[Kept]:
    kept = Kept(browser)
    yield kept
    kept.close()


# Pages of one context share a process, so that each has the compiled scripts of the one before. Without a graphics
# card, Chromium would imitate one.
ARGS = ["--no-sandbox", "--process-per-site", "--disable-gpu", "--disable-gpu-compositing"]
AXE = Path(__file__).parent / "vendor" / "axe.min.js"
# The messages show the HTML of an element, and its selector would take half of the time.
VIOLATIONS = {"resultTypes": ["violations"], "preload": False, "selectors": False}
FRAME = (".site-head", ".site-foot")


@pytest.fixture(autouse=True)
def _patience():
    """Set long timeouts: both databases are tested at once on two cores, so a state that comes late is not an error."""
    expect.set_options(timeout=in_browser())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    """Use Debian's Chromium without its sandbox, which does not work in containers."""
    return {**browser_type_launch_args, "executable_path": chromium(), "args": ARGS}


@pytest.fixture
def live(live_server):
    """Return the URL of a page by its URL name."""

    def url(name: str, *args: object) -> str:
        return f"{live_server.url}{reverse(name, args=args)}"

    return url


class Requests:
    """Counts open requests of the live server, so that the tables are emptied only after the last one has ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = 0

    def begun(self, **signal: Any) -> None:
        with self._lock:
            self._open += 1

    def ended(self, **signal: Any) -> None:
        with self._lock:
            self._open -= 1

    def wait(self) -> None:
        patience = Patience(5)
        while self._open > 0 and not patience.has_run_out(self._open):
            time.sleep(STEP)


@pytest.fixture
def requests_end(live_server):
    """Wait after the test until no request is open."""
    requests = Requests()
    request_started.connect(requests.begun)
    request_finished.connect(requests.ended)
    yield
    requests.wait()
    request_started.disconnect(requests.begun)
    request_finished.disconnect(requests.ended)


@pytest.fixture(scope="session")
def kept(browser):
    with keeping(browser) as kept:
        yield kept


@pytest.fixture
def page_of(kept, live_server, live, requests_end):
    """Open a page signed in as a person, in a separate browser context, or in a tab beside the page `beside`.

    `page_of(user, name, *args)` goes to the page with this URL name.
    """
    faults: list[str] = []

    def hear(fault: str) -> None:
        # The browser logs every failed request. The tests check how the page handles them.
        if "Failed to load resource" not in fault:
            faults.append(fault)

    def open_page(
        user: User | None = None, name: str = "", *args: object, beside: Page | None = None, **options: Any
    ) -> Page:
        if beside is not None:
            page = beside.context.new_page()
            page.set_default_timeout(in_browser())
            page.on("console", lambda message: message.type == "error" and hear(message.text))
            page.on("pageerror", lambda error: hear(str(error)))
            return page
        looks = {name: options.pop(name, None) for name in ("viewport", "color_scheme")}
        tab = kept.tab(**options)
        if user is not None:
            tab.context.add_cookies([session_cookie(user, live_server.url)])
        page = tab.prepare(live_server.url, hear, **looks)
        if name:
            page.goto(live(name, *args))
        return page

    yield open_page
    kept.give_back()
    assert faults == []


def session_cookie(user: User, url: str) -> Any:
    """Create a session like the sign-in page does, and return its cookie."""
    client = Client()
    client.force_login(user, backend=settings.AUTHENTICATION_BACKENDS[-1])
    value = client.cookies[settings.SESSION_COOKIE_NAME].value
    return {"name": settings.SESSION_COOKIE_NAME, "value": value, "url": url}


@cache
def axe_source() -> str:
    return AXE.read_text()


@pytest.fixture
def axe():
    """Return the violations that axe-core finds on a page, one line each, within some elements and without others.

    The frame of the pages is for test_axe.py, and so is the rule on style sheets, which axe-core loads anew for it.
    """

    def check(
        page: Page, within: Sequence[str] = (":root",), without: Sequence[str] = FRAME, **options: Any
    ) -> list[str]:
        # Colors in the middle of a transition are not meaningful. Transitions in folded parts never end by themselves.
        page.evaluate(
            """() => document.getAnimations()
                .filter((each) => each.effect.getComputedTiming().iterations !== Infinity)
                .forEach((each) => each.finish())"""
        )
        # The content-security policy blocks add_script_tag. The script has half a megabyte: it is loaded once a page.
        if page.evaluate("typeof window.axe") == "undefined":
            page.evaluate(axe_source())
        found = page.evaluate(
            "([include, exclude, options]) => axe.run({ include, exclude }, options)",
            [[[each] for each in within], [[each] for each in without], {**VIOLATIONS, **options}],
        )
        return [
            f"{rule['id']}: {node['html'][:160]} ({node['failureSummary'].splitlines()[1].strip()})"
            for rule in found["violations"]
            for node in rule["nodes"]
        ]

    return check
