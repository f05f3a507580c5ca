"""Write the files of an export to a folder or a zip, so that nothing half-written remains."""

import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError

Content = bytes | IO[bytes]


def check_out(out: Path) -> None:
    """Raise ServiceError `out` unless a folder or zip can be written there: it is new, or an empty folder."""
    if out.exists() and (out.suffix == ".zip" or not out.is_dir() or any(out.iterdir())):
        raise ServiceError(
            _("“%(out)s” exists and is not an empty folder. Nothing was written. Choose another path.") % {"out": out},
            code="out",
        )


def write_to_path(
    out: Path, files: Iterator[tuple[str, Content]], finish: Callable[[Callable[[], object]], None]
) -> None:
    """Write files, by their names, to a new or empty folder or to a .zip.

    The files are written beside it first. `finish` gets the function that moves them to `out`, and calls it in its
    transaction. Raises ServiceError `out`; whatever is raised, nothing is left.
    """
    check_out(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    except OSError as error:
        raise _cant_write(out, error) from error
    try:
        if out.suffix == ".zip":
            written = beside / "part.zip"
            with written.open("wb") as target:
                write_zip(target, files)
        else:
            written = beside / "notes"
            written.mkdir()
            _write_folder(written, files)
        finish(lambda: written.replace(out))
    except OSError as error:
        raise _cant_write(out, error) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _cant_write(out: Path, error: OSError) -> ServiceError:
    return ServiceError(
        _("Can't write to “%(out)s”: %(strerror)s. Nothing was written.") % {"out": out, "strerror": error.strerror},
        code="out",
    )


def _write_folder(folder: Path, files: Iterator[tuple[str, Content]]) -> None:
    made = {folder}
    for name, data in files:
        path = folder / name
        if path.parent not in made:
            path.parent.mkdir(parents=True, exist_ok=True)
            made.add(path.parent)
        if isinstance(data, bytes):
            path.write_bytes(data)
            continue
        with path.open("wb") as target:
            shutil.copyfileobj(data, target)


def write_zip(target: IO[bytes], files: Iterator[tuple[str, Content]]) -> None:
    """Write files to a zip. The same files give the same bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            # With a fixed date, the same annotation sets export to the same bytes.
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            if isinstance(data, bytes):
                archive.writestr(entry, data)
                continue
            # The archive must know the size beforehand to allow more than 2 GiB.
            entry.file_size = data.seek(0, os.SEEK_END)
            data.seek(0)
            with archive.open(entry, "w") as written:
                shutil.copyfileobj(data, written)
