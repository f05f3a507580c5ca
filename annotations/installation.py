"""Where this installation has its files: a checkout has them beside the packages, a wheel inside one of them."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

CODE: Final = Path(__file__).resolve().parents[1]
"""The folder with the packages: the checkout, or site-packages."""
_IN_WHEEL: Final = CODE / "deidreview" / "shipped"
FROM_WHEEL: Final = _IN_WHEEL.is_dir()
SHIPPED: Final = _IN_WHEEL if FROM_WHEEL else CODE
"""The folder with `templates`, `static`, `fixtures` and `docs`."""
PROGRAM: Final = "deidreview" if FROM_WHEEL else ".venv/bin/python manage.py"
"""What a person types before the name of a command."""


def data_folder(environ: Mapping[str, str]) -> Path:
    """Return the data folder: DEIDREVIEW_DATA, or `var` in a checkout, or the person's data folder for a wheel."""
    value = environ.get("DEIDREVIEW_DATA", "")
    folder = Path(value).expanduser() if value else _usual(environ)
    return Path(os.path.abspath(folder))  # noqa: PTH100 - keeps symlinks


def _usual(environ: Mapping[str, str]) -> Path:
    if not FROM_WHEEL:
        return CODE / "var"
    # XDG Base Directory Specification 0.8: a relative path in the variable is ignored.
    data = Path(environ.get("XDG_DATA_HOME", ""))
    return (data if data.is_absolute() else Path("~/.local/share").expanduser()) / "deidreview"
