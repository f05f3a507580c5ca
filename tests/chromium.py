"""The path of Chromium. Its headless shell is the same engine without a window and opens pages in half the time."""

import os
import shutil

SHELL = "chromium-headless-shell"
BROWSERS = ("chromium", "chromium-browser")


def chromium(*, window: bool = False) -> str:
    """Return the path that CHROMIUM names, otherwise the shell if there is one; with `window`, prefer the browser."""
    wanted = (*BROWSERS, SHELL) if window else (SHELL, *BROWSERS)
    found = (shutil.which(name) for name in wanted)
    return os.environ.get("CHROMIUM") or next((path for path in found if path), BROWSERS[0])
