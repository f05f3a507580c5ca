"""Fixtures that start the product as `make run` does."""

from typing import Any

import pytest

from tests.chromium import chromium
from tests.worlds.installed import installed
from tests.worlds.product import environ, manage, prepared, running, start

__all__ = ["environ", "installed", "manage", "prepared", "running", "start"]


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    return {**browser_type_launch_args, "executable_path": chromium(), "args": ["--no-sandbox"]}
