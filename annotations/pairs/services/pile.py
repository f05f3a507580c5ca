"""A pile of decisions, clear and published ones: a zip of text files, or Parquet with id, file name and text."""

import io
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from django.utils.translation import gettext as _

from annotations.core.services import ServiceError
from annotations.core.stored_files import open_stored
from annotations.exchange.services.sources import FolderSource, NamedFiles, ZipSource
from annotations.formats.notes import NoteError, Problem, check_name, decode_utf8
from annotations.models import StoredFile
from annotations.pairs.rules.numbers import is_published

PARQUET: Final = b"PAR1"
_TEXT: Final = ".txt"
_NAMES: Final = ("file_name", "filename", "file name", "file", "name")
_ROWS: Final = 500


class Pile:
    """The texts of a pile; the import of notes reads the clear ones of it.

    `clear` and `published` are names of files; `refused` has the problems of files that can't be read.
    """

    def __init__(self, source: NamedFiles) -> None:
        self.load, self.open = source.load, source.open
        self.clear: list[str] = []
        self.published: list[str] = []
        self.refused: list[Problem] = []
        for name in source.names():
            try:
                (self.published if is_published(self._text(name)) else self.clear).append(name)
            except NoteError as error:
                self.refused += error.problems[:1]

    def _text(self, name: str) -> str:
        """The text of a file. Raises NoteError if it isn't a text, or if its name or size isn't allowed."""
        check_name(name)
        if not name.lower().endswith(_TEXT):
            raise NoteError([Problem(name, None, "unknown file", _("Only files that end in .txt are read."))])
        return decode_utf8(self.load(name), name)

    def names(self) -> list[str]:
        """The names of the clear files, sorted."""
        return sorted(self.clear)

    def published_texts(self) -> Iterator[tuple[str, str]]:
        """The names, without ending, and texts of the published decisions."""
        for name in self.published:
            yield name[: -len(_TEXT)], self._text(name)


class ParquetSource:
    """The rows of a Parquet file as text files. The texts are copied to a temporary file; memory holds their bounds."""

    def __init__(self, file: IO[bytes]) -> None:
        self._copy: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the source
        self._bounds: dict[str, tuple[int, int]] = {}
        for name, text in _parquet_rows(file):
            start = self._copy.tell()
            self._copy.write(text.encode())
            self._bounds[name] = (start, self._copy.tell() - start)

    def names(self) -> list[str]:
        """The names, sorted."""
        return sorted(self._bounds)

    def load(self, name: str) -> bytes:
        """The text of a row, in UTF-8."""
        start, size = self._bounds[name]
        self._copy.seek(start)
        return self._copy.read(size)

    def open(self, name: str) -> IO[bytes]:
        """The text of a row, to read."""
        return io.BytesIO(self.load(name))


def _parquet_rows(file: IO[bytes]) -> Iterator[tuple[str, str]]:
    """Names and texts of the rows. A name that occurs again gets the id of its row, and else its number."""
    import pyarrow.parquet
    from pyarrow import ArrowException

    try:
        table = pyarrow.parquet.ParquetFile(file)
        columns = _columns(table.schema_arrow.names)
        seen: set[str] = set()
        for batch in table.iter_batches(batch_size=_ROWS, columns=list(dict.fromkeys(columns.values()))):
            for row in batch.to_pylist():
                name = _name_of(row, columns, seen)
                seen.add(name)
                yield name, str(row[columns["text"]] or "")
    except ArrowException as error:
        raise ServiceError(_("The file is not readable Parquet. Nothing was paired."), code="pile") from error


def _columns(names: Sequence[str]) -> dict[str, str]:
    """The columns of the file by what they hold: id, name and text. Raises ServiceError without text or name."""
    by_name = {name.strip().casefold(): name for name in reversed(names)}
    found = {"id": by_name.get("id"), "name": next((by_name[name] for name in _NAMES if name in by_name), None)}
    found["name"] = found["name"] or found["id"]
    found["text"] = by_name.get("text")
    if not found["name"] or not found["text"]:
        message = _("The Parquet file needs the columns id, file_name and text. Nothing was paired.")
        raise ServiceError(message, code="pile")
    return {key: name for key, name in found.items() if name}


def _name_of(row: dict[str, Any], columns: dict[str, str], seen: set[str]) -> str:
    name = Path(str(row[columns["name"]])).name.removesuffix(_TEXT)
    if f"{name}{_TEXT}" in seen and "id" in columns:
        name = f"{name}-{row[columns['id']]}"
    return f"{name}{_TEXT}" if f"{name}{_TEXT}" not in seen else f"{name}-{len(seen)}{_TEXT}"


def packed_pile(path: Path) -> IO[bytes]:
    """A folder as one zip, or a zip or Parquet file as it is. Raises ServiceError that names the path."""
    if path.is_file():
        return path.open("rb")
    if not path.is_dir():
        raise ServiceError(_("There is no file or folder “%(path)s”.") % {"path": path}, code="path")
    out: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - for the caller
    source = FolderSource(path)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name in source.names():
            with source.open(name) as file:
                archive.writestr(name, file.read())
    out.seek(0)
    return out


def check_pile(content: IO[bytes]) -> None:
    """Raise ServiceError `pile` or `zip` unless the file is Parquet or a readable zip."""
    content.seek(0)
    is_parquet = content.read(len(PARQUET)) == PARQUET
    content.seek(0)
    if not is_parquet:
        ZipSource(content)
        content.seek(0)


@contextmanager
def opened_pile(stored: StoredFile | None) -> Iterator[Pile]:
    """Read a stored pile. Raises ServiceError `expired` if it was deleted."""
    if stored is None:
        message = _("The uploaded decisions were deleted; they are kept for a day. Upload them again.")
        raise ServiceError(message, code="expired")
    with open_stored(stored) as copy:
        is_parquet = copy.read(len(PARQUET)) == PARQUET
        copy.seek(0)
        yield Pile(ParquetSource(copy) if is_parquet else ZipSource(copy))
