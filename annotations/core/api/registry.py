"""The registry of routers. Each feature registers its own in its AppConfig.ready(), by a dotted path.

A path, not a router, so that workers and commands never load the API's libraries.
"""

from typing import TYPE_CHECKING

from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from ninja import Router

_PATHS: list[str] = []


def register(path: str) -> None:
    """Register the router at a dotted path, such as `annotations.notes.api.router`."""
    _PATHS.append(path)


def routers() -> "list[Router]":
    """Import and return all routers, in the order of registration."""
    return [import_string(path) for path in _PATHS]
