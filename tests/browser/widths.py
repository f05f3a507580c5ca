"""A wide and a narrow window, and whether a page fits its window."""

from typing import Any, Final

from playwright.sync_api import Page

# The options of `page_of` for a phone in the dark: the look in which most walks are made.
PHONE: Final[dict[str, Any]] = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}


def fits(page: Page) -> bool:
    """Return whether the page needs no horizontal scrolling."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


def fits_everywhere(page: Page) -> bool:
    """Return whether the page fits a wide and a narrow window. The page keeps its own window."""
    own = page.viewport_size
    assert own is not None
    result = True
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": own["height"]})
        result = result and fits(page)
    page.set_viewport_size(own)
    return result
