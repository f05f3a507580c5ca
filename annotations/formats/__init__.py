"""File formats for notes and their spans, by name in `FORMATS` (`annotations.formats.registry`).

The formats are loaded when one of them is first asked for: most processes read no files.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from annotations.formats.registry import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        return getattr(import_module("annotations.formats.registry"), name)
