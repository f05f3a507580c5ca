"""The folder that a reading writes: one Parquet file for each part, and what the parts were made of.

A part is complete as soon as its file is there, because it gets its name only when it is on disk. So a reading that was
killed goes on where it stopped, and each note is in exactly one part.
"""

import fcntl
import json
import os
import re
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


# What a killed process can leave.
_HALF: Final = re.compile(r"_part-\d+-(?:part-\d{7}\.parquet|_about\.json)")


@contextmanager
def opened(target: Path, about: Mapping[str, Any]) -> Iterator[None]:
    """Make the folder, or go on with one that was made of the same (`about`), alone.

    Raises ServiceError `target` for a folder that can't be written to, that has other content, or in which another
    reading is going on.
    """
    new = not (target / LOCK).exists()
    try:
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = (target / LOCK).open("a")
    except OSError as error:
        raise ServiceError(
            _("Can't write to the folder %(folder)s (%(reason)s). Choose another one.")
            % {"folder": target, "reason": error.strerror},
            code="target",
        ) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ServiceError(
                _("Another command is writing to %(folder)s. Wait until it ends.") % {"folder": target}, code="target"
            ) from None
        try:
            _check(target, about)
        except ServiceError:
            if new:
                (target / LOCK).unlink()
            raise
        yield


def _check(target: Path, about: Mapping[str, Any]) -> None:
    path, halves = target / ABOUT, [one for one in target.iterdir() if _HALF.fullmatch(one.name)]
    try:
        earlier = json.loads(path.read_text())
    except FileNotFoundError:
        if any(one.name != LOCK and one not in halves for one in target.iterdir()):
            raise ServiceError(
                _("The folder %(folder)s holds other files. Choose an empty one.") % {"folder": target}, code="target"
            ) from None
        _write(path, json.dumps(about, indent=1).encode())
        earlier = json.loads(json.dumps(about))
    except ValueError:
        earlier = {}
    if differing := _differing(earlier, json.loads(json.dumps(about))):
        raise ServiceError(
            _("The folder %(folder)s holds the answers of another reading. Different: %(names)s. Choose an empty one.")
            % {"folder": target, "names": ", ".join(differing)},
            code="target",
        )
    for half in halves:  # It would be written again.
        half.unlink()


def _differing(earlier: Any, about: Mapping[str, Any]) -> list[str]:
    known = earlier if isinstance(earlier, dict) else {}
    return [name for name in about if known.get(name) != about[name]]


def part_path(target: Path, number: int) -> Path:
    return target / f"part-{number:07}.parquet"


def part_in(path: Path) -> pyarrow.Table | None:
    """Return a part; None if it isn't there, or is damaged."""
    try:
        return parquet.read_table(path)
    except (FileNotFoundError, pyarrow.ArrowInvalid):
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
