"""Sources of files to import: a folder, one file or a zip. Every error names the file and the reason."""

import io
import os
import stat
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Final, NamedTuple, Protocol

from django.conf import settings
from django.utils.translation import gettext as _

from annotations.core.services import ServiceError
from annotations.formats import DETECT
from annotations.formats.base import DOCUMENT_EXTENSIONS, NAMES, Files
from annotations.formats.documents.base import DOCUMENTS
from annotations.formats.files import csv_reading
from annotations.formats.files.csv_files import unquoted
from annotations.formats.files.zips import DAMAGED, MOST_ENTRIES, EntryReader, TooManyEntries, open_zip
from annotations.formats.notes import NoteError, Problem, check_name
from annotations.text.names import bad_character, printable

PATIENTS = "patients.csv"
SYSTEM_FOLDERS = {"__MACOSX", ".git", ".svn"}
# Documents of other programs. Some of them are zip archives inside.
ENDINGS_OF_DOCUMENTS = {f".{extension}" for extension in DOCUMENT_EXTENSIONS}
ANNOTATIONS_LONGER = 8
# A file of many notes is unpacked to disk if it is longer.
IN_MEMORY = 1024 * 1024


class NamedFiles(Files, Protocol):
    """Named byte strings. Names are relative, with `/`."""

    def names(self) -> list[str]:
        """All file names, sorted."""


def _check_size(name: str, size: int) -> None:
    """Raise NoteError if a file is too large. Annotations may be longer than the text: CoNLL has a row per token."""
    is_text = name.lower().endswith(".txt")
    limit = settings.NOTE_MAX_BYTES * (1 if is_text else ANNOTATIONS_LONGER)
    if size > limit:
        message = (
            _("The note has %(size)s; at most %(limit)s are allowed. Split the note.")
            if is_text
            else _("The annotation file has %(size)s; at most %(limit)s are allowed. Split the note.")
        )
        sizes = {"size": megabytes(size), "limit": megabytes(limit)}
        raise NoteError([Problem(name, None, "size", message % sizes)])


def megabytes(size: int) -> str:
    return f"{size / 1024 / 1024:,.1f} MB"


def _hidden(name: str) -> bool:
    return any(part != "." and _hidden_part(part) for part in name.split("/"))


def _hidden_part(part: str) -> bool:
    return part.startswith(".") or part in SYSTEM_FOLDERS


class FolderSource:
    """Files in a folder and its subfolders. Links that lead outside the folder are skipped."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._names: list[str] | None = None

    def names(self) -> list[str]:
        if self._names is None:
            self._names = sorted(self._below(str(self.root), ""))
        return self._names

    def _below(self, folder: str, prefix: str) -> Iterator[str]:
        """Names of the files below a folder. `os.scandir` answers most questions without a system call per file."""
        with os.scandir(folder) as entries:
            for entry in entries:
                if _hidden_part(entry.name):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    yield from self._below(entry.path, f"{prefix}{entry.name}/")
                elif entry.is_file() and (not entry.is_symlink() or self._inside(entry.path)):
                    yield prefix + entry.name

    def _inside(self, link: str) -> bool:
        return Path(link).resolve().is_relative_to(self.root.resolve())

    def load(self, name: str) -> bytes:
        try:
            with open(f"{self.root}/{name}", "rb") as file:  # noqa: PTH123 - half the time of Path's, for many small files
                _check_size(name, os.fstat(file.fileno()).st_size)
                return file.read()
        except OSError as error:
            raise _unreadable(name, error) from error

    def open(self, name: str) -> IO[bytes]:
        try:
            return Path(self.root, name).open("rb")
        except OSError as error:
            raise _unreadable(name, error) from error


def _unreadable(name: str, error: OSError) -> NoteError:
    return NoteError([Problem(name, None, "unreadable", f"The file can't be read: {error.strerror}.")])


# The files of a note that have its name, by the ending of the one that somebody names: a text and its annotations.
_TOGETHER: Final = {".txt": {".ann", ".conll"}, ".ann": {".txt"}, ".conll": {".txt"}}


class FileSource(FolderSource):
    """A file, with the text or the annotations of the same name in its folder, or a document `alone`."""

    def __init__(self, path: Path, *, alone: bool = False) -> None:
        super().__init__(path.parent)
        self.stem, self.endings = path.stem, {path.suffix, *_TOGETHER.get(path.suffix.lower(), ())}
        self.alone = path.name if alone else ""

    def names(self) -> list[str]:
        if self.alone:
            return [self.alone]
        files = (path for path in self.root.iterdir() if path.stem == self.stem and path.suffix in self.endings)
        return sorted(path.name for path in files if path.is_file())


class MemorySource:
    """Files in memory."""

    def __init__(self, files: Sequence[tuple[str, bytes]]) -> None:
        self.files = dict(files)

    def names(self) -> list[str]:
        return sorted(name for name in self.files if not _hidden(name))

    def load(self, name: str) -> bytes:
        data = self.files[name]
        _check_size(name, len(data))
        return data

    def open(self, name: str) -> IO[bytes]:
        return io.BytesIO(self.files[name])


class ZipSource:
    """A zip archive, checked before anything is read: names that lead outside, links, encryption, sizes.

    A single top folder is dropped from the names, so that a zipped folder gives the same names as the folder itself.
    Raises ServiceError if the archive can't be imported.
    """

    def __init__(self, file: IO[bytes]) -> None:
        try:
            self.archive = open_zip(file)
        except TooManyEntries as error:
            raise ServiceError(
                _("The archive holds more than %(most)s files. Nothing was imported. Split it into several archives.")
                % {"most": f"{MOST_ENTRIES:,}"},
                code="entries",
            ) from error
        except DAMAGED as error:
            raise ServiceError(
                _("The file is not a readable zip archive. Nothing was imported."), code="zip"
            ) from error
        self.entries: dict[str, zipfile.ZipInfo] = {}
        for entry in self.archive.infolist():
            if entry.filename in self.entries and not _hidden(entry.filename):
                message = _("The archive holds two files named “%(name)s”. Nothing was imported. Rename one of them.")
                raise ServiceError(message % {"name": printable(entry.filename[:80])}, code="twice")
            if not entry.is_dir():
                self.entries[entry.filename] = entry
        for entry in self.entries.values():
            _check_entry(entry)
        total = sum(entry.file_size for entry in self.entries.values())
        if total > (limit := 10 * settings.UPLOAD_MAX_BYTES):
            message = _(
                "The archive has %(total)s unpacked; at most %(limit)s are allowed. Nothing was imported. "
                "Split it into several archives."
            )
            raise ServiceError(message % {"total": megabytes(total), "limit": megabytes(limit)}, code="size")
        visible = [name for name in self.entries if not _hidden(name)]
        self._reader = EntryReader(self.archive, file)
        self.prefix = _common_folder(visible)
        self._names = sorted(name.removeprefix(self.prefix) for name in visible)

    def names(self) -> list[str]:
        return self._names

    def load(self, name: str) -> bytes:
        entry = self.entries[self.prefix + name]
        _check_size(name, entry.file_size)
        try:
            return self._reader.read(entry)
        except DAMAGED as error:
            raise _damaged(name) from error

    def open(self, name: str) -> IO[bytes]:
        """The file unpacked: a stream inside an archive would unpack everything before it at each step back."""
        entry = self.entries[self.prefix + name]
        unpacked = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - the caller closes it
        try:
            with self.archive.open(entry) as file:
                left = entry.file_size
                while data := file.read(min(IN_MEMORY, left)):
                    left -= unpacked.write(data)
        except DAMAGED as error:
            unpacked.close()
            raise _damaged(name) from error
        unpacked.seek(0)
        return unpacked


def _damaged(name: str) -> NoteError:
    return NoteError([Problem(name, None, "zip", "The file is damaged inside the archive.")])


def _common_folder(names: Sequence[str]) -> str:
    """The single top folder of all names, with a slash; empty if there is none."""
    tops = {name.partition("/")[0] for name in names}
    return tops.pop() + "/" if len(tops) == 1 and all("/" in name for name in names) else ""


def _check_entry(entry: zipfile.ZipInfo) -> None:
    name = entry.filename
    if name.startswith(("/", "\\")) or "\\" in name or ".." in name.split("/") or ":" in name.split("/")[0]:
        message = _("The archive holds a path that leads outside: “%(name)s”. Nothing was imported.")
        raise ServiceError(message % {"name": printable(name[:80])}, code="outside")
    if stat.S_ISLNK(entry.external_attr >> 16):
        message = _("The archive holds a link: “%(name)s”. Nothing was imported.")
        raise ServiceError(message % {"name": printable(name[:80])}, code="link")
    if entry.flag_bits & 0x1:
        raise ServiceError(_("The archive is encrypted. Nothing was imported. Decrypt it first."), code="encrypted")


def source_at(path: Path, format: str = DETECT) -> NamedFiles:
    """Source for a path given on the command line. Raises ServiceError naming the path."""
    if not path.exists():
        raise ServiceError(_("There is no file or folder “%(path)s”.") % {"path": printable(str(path))}, code="path")
    if path.is_dir():
        return FolderSource(path)
    is_document = path.suffix.lower() in ENDINGS_OF_DOCUMENTS
    if is_document and format not in (DETECT, DOCUMENTS):
        message = _("“%(name)s” is not plain text. Nothing was imported. Import it with the format “documents”.")
        raise ServiceError(message % {"name": printable(path.name)}, code="document")
    if is_document or (format == DOCUMENTS and path.suffix.lower() != ".zip"):
        return FileSource(path, alone=True)
    if zipfile.is_zipfile(path):
        if (size := path.stat().st_size) > settings.UPLOAD_MAX_BYTES:
            limit = megabytes(settings.UPLOAD_MAX_BYTES)
            message = _("“%(name)s” has %(size)s; at most %(limit)s are allowed. Split it into several archives.")
            raise ServiceError(message % {"name": path.name, "size": megabytes(size), "limit": limit}, code="size")
        return ZipSource(path.open("rb"))
    return FileSource(path)


def read_patients(source: NamedFiles) -> dict[str, str]:
    """Patient IDs by note name from `patients.csv` (columns name, patient_id), if the source holds one."""
    if PATIENTS not in source.names():
        return {}
    return parse_patients(source.load(PATIENTS), PATIENTS)


def read_names(source: NamedFiles) -> dict[str, str]:
    """Names of notes by the names of their files, from the table of an export. Raises ServiceError."""
    if NAMES not in source.names():
        return {}
    try:
        rows = list(csv_reading.reader(io.StringIO(source.load(NAMES).decode("utf-8-sig"), newline=""), strict=True))
        return {unquoted(file): check_name(unquoted(name)) for file, name in rows[1:]}
    except (UnicodeDecodeError, csv_reading.Error, NoteError, ValueError) as error:
        raise ServiceError(
            _("“%(file)s” is not the table of an export. Nothing was imported. Remove it, or take it from the export.")
            % {"file": NAMES},
            code="names",
        ) from error


def patients_at(path: Path) -> dict[str, str]:
    """Patient IDs by note name from a CSV on disk. Raises ServiceError naming the path."""
    try:
        data = path.read_bytes()
    except OSError as error:
        message = _("Can't read “%(path)s”: %(strerror)s. Nothing was imported.")
        raise ServiceError(message % {"path": path, "strerror": error.strerror}, code="path") from error
    return parse_patients(data, path.name)


class NoteRow(NamedTuple):
    """What a CSV says about a note; empty where it says nothing."""

    patient: str = ""
    note_type: str = ""
    site: str = ""


# Columns of a CSV about notes, beside the name.
COLUMNS = ("patient_id", "type", "site")


def parse_patients(data: bytes, file: str) -> dict[str, str]:
    """Patient IDs by note name from a CSV with the columns name and patient_id, separated by commas or semicolons.

    Raises ServiceError naming the line.
    """
    return {name: row.patient for name, row in _parsed(data, file, ("patient_id",)).items()}


def parse_note_rows(data: bytes, file: str) -> dict[str, NoteRow]:
    """Patient IDs, types and sites by note name from a CSV with the column name and at least one of the others.

    Raises ServiceError naming the line.
    """
    return _parsed(data, file, COLUMNS)


def _parsed(data: bytes, file: str, columns: Sequence[str]) -> dict[str, NoteRow]:
    """The rows by note name. The CSV must have the column name and at least one of `columns`."""

    def refused(message: str, **more: object) -> ServiceError:
        return ServiceError(message % {"file": file, **more}, code="patients")

    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise refused(_("“%(file)s” is not UTF-8. Nothing was changed. Save it as UTF-8.")) from error
    if "\0" in text:
        raise refused(_("“%(file)s” holds NUL characters, so it is not a CSV. Nothing was changed."))
    head = text.partition("\n")[0]
    # Spreadsheet programs in much of Europe separate columns by semicolons.
    rows = csv_reading.DictReader(
        io.StringIO(text, newline=""), delimiter=";" if ";" in head and "," not in head else ",", strict=True
    )
    found: dict[str, NoteRow] = {}
    try:
        given = set(rows.fieldnames or ())
        if "name" not in given or not given & set(columns):
            raise refused(
                _("“%(file)s” needs the columns name and patient_id. Nothing was changed.")
                if len(columns) == 1
                else _("“%(file)s” needs the column name, and patient_id, type or site. Nothing was changed.")
            )
        for row in rows:
            name, line = (row["name"] or "").strip(), rows.line_num
            patient, note_type, site = ((row.get(column) or "").strip() for column in COLUMNS)
            if len(patient) > 80:
                message = _("“%(file)s”, line %(line)s: A patient ID has at most 80 characters. Nothing was changed.")
                raise refused(message, line=line)
            if bad := bad_character(patient):
                message = _(
                    "“%(file)s”, line %(line)s: The patient ID holds %(character)s, a control character or one "
                    "that changes the direction of text. Nothing was changed."
                )
                raise refused(message, line=line, character=bad)
            if any(len(value) > 80 or bad_character(value) for value in (note_type, site)):
                message = _(
                    "“%(file)s”, line %(line)s: A type or site has at most 80 characters, without control "
                    "characters. Nothing was changed."
                )
                raise refused(message, line=line)
            found[name.removesuffix(".txt")] = NoteRow(patient, note_type, site)
    except csv_reading.Error as error:
        message = _("“%(file)s”, line %(line)s: The file is not a readable CSV. Nothing was changed.")
        raise refused(message, line=rows.line_num) from error
    return found
