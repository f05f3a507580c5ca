"""Pages of the browser that one test after another uses: a new one would load and compile all scripts again.

    browser = Kept(browser)
    tab = browser.tab(url, viewport=..., locale=...)
    browser.give_back()   # after each test: pages are left, cookies, routes and listeners removed

Tabs that are in use at the same time have different contexts, as different people have.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Error, Page

from tests.waiting import in_browser

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
