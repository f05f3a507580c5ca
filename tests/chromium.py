"""Where Chromium is. The headless shell is the same engine with no window around it: pages open in half the time."""

import os
import shutil

SHELL = "chromium-headless-shell"
BROWSERS = ("chromium", "chromium-browser")


def chromium(*, window: bool = False) -> str:
    """The path of the browser: what CHROMIUM says, else the shell before the whole one; with a `window`, after it."""
    wanted = (*BROWSERS, SHELL) if window else (SHELL, *BROWSERS)
    found = (shutil.which(name) for name in wanted)
    return os.environ.get("CHROMIUM") or next((path for path in found if path), BROWSERS[0])
