"""Fixtures that start the product as `make run` does."""

from tests.worlds.product import environ, manage, prepared, running, start

__all__ = ["environ", "manage", "prepared", "running", "start"]
