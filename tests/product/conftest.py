"""Fixtures that start the product as `make run` does."""

from tests.worlds.installed import installed
from tests.worlds.product import environ, manage, prepared, running, start

__all__ = ["environ", "installed", "manage", "prepared", "running", "start"]
