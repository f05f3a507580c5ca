"""The real product (tests/ops) seen through Chromium (tests/browser)."""

from tests.browser.conftest import browser_type_launch_args
from tests.ops.conftest import database_url, environ, manage, start

__all__ = ["browser_type_launch_args", "database_url", "environ", "manage", "start"]
