"""The running app (tests/product) in Chromium (tests/browser)."""

from tests.browser.conftest import browser_type_launch_args
from tests.worlds.product import environ, manage, prepared, start

__all__ = ["browser_type_launch_args", "environ", "manage", "prepared", "start"]
