"""The real product (tests/ops) seen through Chromium (tests/browser)."""

from tests.browser.conftest import browser_type_launch_args
from tests.ops.conftest import environ, manage, prepared, start

__all__ = ["browser_type_launch_args", "environ", "manage", "prepared", "start"]
