"""Names of files that every operating system can hold, and can tell apart without regard to case."""

import re
import unicodedata
from collections.abc import Collection
from hashlib import sha256
from typing import Final

from annotations.formats.files.csv_files import csv_line
from annotations.text.names import bad_character

_UNSAFE: Final = re.compile(r'[<>:"|?*\\]|[. ]+$')
_RESERVED: Final = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\..*)?", re.IGNORECASE)
"""Names of devices in Windows, which no file can have, with any ending."""
_LONGEST: Final = 200
"""The most bytes of a name or folder; Linux allows 255, with the ending of the file."""


class FileNames:
    """Gives each note a name for its files. `changed` are the names of the notes, by those that differ from them."""

    def __init__(self, taken: Collection[str] = ("export",)) -> None:
        """`taken`: names, without an ending, of files that the export has besides those of the notes."""
        self.changed: dict[str, str] = {}
        self._taken = set(taken)

    def table(self) -> bytes:
        """The table of the names that differ, as CSV; empty if there are none."""
        rows = "".join(map(csv_line, [("file", "name"), *self.changed.items()]))
        return ("\ufeff" + rows).encode() if self.changed else b""

    def of(self, name: str, folder: str = "") -> str:
        """The name for the files of a note in a folder of the export; of a name that was given before, another one."""
        safe = "/".join(map(_safe, name.split("/")))
        found, number = safe, 1
        while (key := unicodedata.normalize("NFC", found).casefold()) in self._taken:
            number += 1
            found = f"{safe}~{number}"
        self._taken.add(key)
        if found != name:
            self.changed[folder + found] = folder + name
        return found


def _safe(part: str) -> str:
    """One folder or file name, without what a system refuses."""
    safe = "".join("_" if bad_character(each) else each for each in part)
    safe = _UNSAFE.sub(lambda match: "_" * len(match[0]), safe)
    if _RESERVED.fullmatch(safe):
        safe = f"_{safe}"
    if len(safe.encode()) > _LONGEST:
        digest = sha256(part.encode()).hexdigest()[:8]
        safe = f"{safe.encode()[: _LONGEST - 10].decode(errors='ignore')}~{digest}"
    return safe
