"""The folder that a reading writes: one Parquet file for each part, and what the parts were made of.

A part is complete as soon as its file is there, because it gets its name only when it is on disk. So a reading that was
killed goes on where it stopped, and each note is in exactly one part.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pyarrow
from django.utils.translation import gettext as _
from pyarrow import parquet

from annotations.core.errors import ServiceError

# Spark, Ray and pyarrow ignore files that begin with an underscore when they read the folder.
ABOUT: Final = "_about.json"
LOCK: Final = "_lock"


@contextmanager
def opened(target: Path, about: Mapping[str, Any]) -> Iterator[None]:
    """Make the folder, or go on with one that was made of the same (`about`), alone.

    Raises ServiceError `target` for a folder with other content, and one in which another reading is going on.
    """
    try:
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ServiceError(
            _("The folder %(folder)s can't be made (%(reason)s). Choose another one.")
            % {"folder": target, "reason": error.strerror},
            code="target",
        ) from None
    with (target / LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ServiceError(
                _("Another command is writing to %(folder)s. Wait until it ends.") % {"folder": target}, code="target"
            ) from None
        _check(target, about)
        yield


def _check(target: Path, about: Mapping[str, Any]) -> None:
    path = target / ABOUT
    for left in target.glob("_part-*"):
        left.unlink()  # of a killed process; it would be written again
    try:
        earlier = json.loads(path.read_text())
    except FileNotFoundError:
        if any(child.name != LOCK for child in target.iterdir()):
            raise ServiceError(
                _("The folder %(folder)s holds other files. Choose an empty one.") % {"folder": target}, code="target"
            ) from None
        _write(path, json.dumps(about, indent=1).encode())
        return
    except ValueError:
        earlier = None
    if earlier != json.loads(json.dumps(about)):
        raise ServiceError(
            _(
                "The folder %(folder)s holds the answers of another reading: another model, threshold or files. "
                "Choose an empty one."
            )
            % {"folder": target},
            code="target",
        )


def part_path(target: Path, number: int) -> Path:
    return target / f"part-{number:07}.parquet"


def rows_in(path: Path) -> int | None:
    """Count the rows of a part; None if it isn't there, or is damaged."""
    try:
        return int(parquet.read_metadata(path).num_rows)
    except (OSError, pyarrow.ArrowInvalid):
        return None


def write_part(path: Path, batch: pyarrow.RecordBatch) -> None:
    """Write a part to the disk, and only then give it its name."""
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.Table.from_batches([batch]), sink, compression="zstd")
    _write(path, sink.getvalue())


def _write(path: Path, content: bytes | pyarrow.Buffer) -> None:
    part = path.with_name(f"_part-{os.getpid()}-{path.name}")
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        with suppress(FileNotFoundError):
            part.unlink()
