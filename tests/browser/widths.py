"""A wide and a narrow window, whether a page fits its window, and the working pages in small windows."""

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


# A small laptop, and a window of 1440 by 900 pixels at 200% zoom.
SMALL: Final = ((1024, 700), (720, 450))
# What shares the first row: the menu, the list of notes, the parts of the bar.
_ROW = ".nav-button > summary, #notes-list > summary, .wb-bar > :not(.actions), .wb-bar .actions > *"
_CHROME = """async ([row, controls]) => {
    // The list of notes folds in the frame after the change of the window.
    for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
    const isShown = (each) => each.checkVisibility({ visibilityProperty: true });
    const boxes = (where) => [...document.querySelectorAll(where)].filter(isShown)
        .map((each) => [each, each.getBoundingClientRect()]).filter(([, box]) => box.width > 1);
    const name = (each) => each.id || each.className || each.tagName;
    const found = [];
    const { scrollWidth: wide, scrollHeight: high } = document.documentElement;
    if (wide > innerWidth || high > innerHeight) found.push(`scrolls: ${wide} by ${high}`);
    const parts = boxes(row);
    for (const [each, box] of parts) {
        if (box.top < 0 || box.bottom > 48 || box.right > innerWidth) found.push(`${name(each)} is outside of the row`);
        for (const [other, next] of parts) {
            const covers = each !== other && box.left < next.left && box.right > next.left + 1;
            if (covers) found.push(`${name(each)} covers ${name(other)}`);
        }
    }
    const title = document.querySelector(".wb-bar h1");
    if (title.clientWidth < Math.min(64, title.scrollWidth)) found.push(`the name has ${title.clientWidth}`);
    const text = document.getElementById("scroll").getBoundingClientRect();
    if (text.top > 48 || text.height < 84) found.push(`the text has ${text.height} from ${text.top}`);
    for (const where of controls) {
        const shown = boxes(where);
        if (!shown.length) found.push(`${where} is missing`);
        for (const [each, box] of shown) {
            const at = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
            const isOut = box.bottom > innerHeight || box.right > innerWidth;
            if (isOut || !each.contains(at)) found.push(`${where} is not in view`);
        }
    }
    return found;
}"""


def chrome_faults(page: Page, *controls: str) -> list[str]:
    """Return what is wrong with an open working page in small windows.

    One row of chrome, nothing over anything else, text and controls (selectors) in view without scrolling.
    """
    own = page.viewport_size
    assert own is not None
    faults = []
    for width, height in SMALL:
        page.set_viewport_size({"width": width, "height": height})
        faults += [f"{width}: {fault}" for fault in page.evaluate(_CHROME, [_ROW, controls])]
    page.set_viewport_size(own)
    return faults
