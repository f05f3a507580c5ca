"""Zip files as mappings of names to content."""

import io
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO

Content = bytes | str


def zipped(
    files: Mapping[str, Content] | Iterable[tuple[str | zipfile.ZipInfo, Content]], kind: int = zipfile.ZIP_DEFLATED
) -> bytes:
    """The zip of files, which are given as pairs where names come twice or an entry has more than a name."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", kind) as archive:
        for name, content in files.items() if isinstance(files, Mapping) else files:
            archive.writestr(name, content)
    return out.getvalue()


def unzipped(file: bytes | Path | IO[bytes]) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(file) if isinstance(file, bytes) else file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
