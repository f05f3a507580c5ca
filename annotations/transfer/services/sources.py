"""Where files to import come from: a folder, one file, a zip. Every refusal names the file and the reason."""

import csv
import io
import lzma
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from django.conf import settings
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.domain.names import bad_character, shown
from annotations.domain.notes import NoteError, Problem
from annotations.domain.zips import MOST_ENTRIES, TooManyEntries, open_zip

PATIENTS = "patients.csv"
SYSTEM_FOLDERS = {"__MACOSX", ".git", ".svn"}
ANNOTATIONS_LONGER = 8
# What reading one file of a zip can raise; zlib's and lzma's own errors are no OSError.
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    OSError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)


class Source(Protocol):
    """Named byte strings. Names are relative, with `/`."""

    def names(self) -> list[str]:
        """All file names, sorted."""

    def load(self, name: str) -> bytes:
        """One file whole. Raises NoteError when it is larger than a note may be."""


def _check_size(name: str, size: int) -> None:
    """Raises NoteError. A note's annotations may be longer than its text: CoNLL has a row for every token."""
    is_text = name.lower().endswith(".txt")
    limit = settings.NOTE_MAX_BYTES * (1 if is_text else ANNOTATIONS_LONGER)
    if size > limit:
        what = _("a note") if is_text else _("a file of annotations")
        message = _("%(size)s is more than %(what)s may have (%(limit)s)") % {
            "size": megabytes(size),
            "what": what,
            "limit": megabytes(limit),
        }
        raise NoteError([Problem(name, None, "size", message)])


def megabytes(size: int) -> str:
    return f"{size / 1024 / 1024:,.1f} MB"


def _hidden(name: str) -> bool:
    return any(_hidden_part(part) for part in PurePosixPath(name).parts)


def _hidden_part(part: str) -> bool:
    return part.startswith(".") or part in SYSTEM_FOLDERS


class FolderSource:
    """Files below a folder; links that lead out of it are not followed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._names: list[str] | None = None

    def names(self) -> list[str]:
        if self._names is None:
            self._names = sorted(self._below(str(self.root), ""))
        return self._names

    def _below(self, folder: str, prefix: str) -> Iterator[str]:
        """A thousand notes are asked for at once: the folder's own entries know nearly all that is needed."""
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
            raise NoteError([Problem(name, None, "unreadable", f"can't be read: {error.strerror}")]) from error


class FileSource(FolderSource):
    """One note by its file, with what lies beside it under the same name."""

    def __init__(self, path: Path) -> None:
        super().__init__(path.parent)
        self.stem = path.stem

    def names(self) -> list[str]:
        return sorted(path.name for path in self.root.iterdir() if path.is_file() and path.stem == self.stem)


class MemorySource:
    """Files that were dropped or pasted on the page."""

    def __init__(self, files: Sequence[tuple[str, bytes]]) -> None:
        self.files = dict(files)

    def names(self) -> list[str]:
        return sorted(name for name in self.files if not _hidden(name))

    def load(self, name: str) -> bytes:
        data = self.files[name]
        _check_size(name, len(data))
        return data


class ZipSource:
    """A zip, checked before anything is read: names that lead outside, links, encryption, sizes.

    One folder around everything is taken off, so that a zipped folder names its notes as the folder does.
    Raises ServiceError; the archive is then refused whole.
    """

    def __init__(self, file: IO[bytes]) -> None:
        try:
            self.archive = open_zip(file)
        except TooManyEntries as error:
            raise ServiceError(
                _("this archive holds more than %(most)s files; split it into several. Nothing was imported")
                % {"most": f"{MOST_ENTRIES:,}"},
                code="entries",
            ) from error
        except _DAMAGED as error:
            raise ServiceError(_("this is not a readable zip archive; nothing was imported"), code="zip") from error
        self.entries: dict[str, zipfile.ZipInfo] = {}
        for entry in self.archive.infolist():
            if entry.filename in self.entries and not _hidden(entry.filename):
                shown = ascii(entry.filename[:80])
                raise ServiceError(
                    _("the archive holds two files named %(shown)s; nothing was imported") % {"shown": shown},
                    code="twice",
                )
            if not entry.is_dir():
                self.entries[entry.filename] = entry
        for entry in self.entries.values():
            _check_entry(entry)
        total = sum(entry.file_size for entry in self.entries.values())
        if total > (limit := 10 * settings.UPLOAD_MAX_BYTES):
            raise ServiceError(
                _("unpacked, this archive has %(total)s; at most %(limit)s are taken at once")
                % {"total": megabytes(total), "limit": megabytes(limit)},
                code="size",
            )
        self.prefix = self._common_folder()

    def _common_folder(self) -> str:
        tops = {name.partition("/")[0] for name in self.entries if not _hidden(name)}
        if len(tops) == 1 and all("/" in name for name in self.entries if not _hidden(name)):
            return tops.pop() + "/"
        return ""

    def names(self) -> list[str]:
        return sorted(name.removeprefix(self.prefix) for name in self.entries if not _hidden(name))

    def load(self, name: str) -> bytes:
        entry = self.entries[self.prefix + name]
        _check_size(name, entry.file_size)
        try:
            with self.archive.open(entry) as file:
                # The directory may lie about the size: never read more than it said.
                return file.read(entry.file_size + 1)[: entry.file_size]
        except _DAMAGED as error:
            raise NoteError([Problem(name, None, "zip", "this file is damaged inside the archive")]) from error


def _check_entry(entry: zipfile.ZipInfo) -> None:
    name = entry.filename
    shown = ascii(name[:80])
    if name.startswith(("/", "\\")) or "\\" in name or ".." in name.split("/") or ":" in name.split("/")[0]:
        raise ServiceError(
            _("the archive names a file outside itself (%(shown)s); nothing was imported") % {"shown": shown},
            code="outside",
        )
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise ServiceError(
            _("the archive holds a link (%(shown)s); nothing was imported") % {"shown": shown}, code="link"
        )
    if entry.flag_bits & 0x1:
        raise ServiceError(_("the archive is encrypted; unpack it first. Nothing was imported"), code="encrypted")


def source_at(path: Path) -> Source:
    """The source for a path of the command line. Raises ServiceError naming the path."""
    if not path.exists():
        raise ServiceError(_("%(path)s: there is nothing here") % {"path": shown(str(path))}, code="path")
    if path.is_dir():
        return FolderSource(path)
    if zipfile.is_zipfile(path):
        if (size := path.stat().st_size) > settings.UPLOAD_MAX_BYTES:
            limit = megabytes(settings.UPLOAD_MAX_BYTES)
            raise ServiceError(
                _("%(name)s: %(size)s; at most %(limit)s are taken at once")
                % {"name": path.name, "size": megabytes(size), "limit": limit},
                code="size",
            )
        return ZipSource(path.open("rb"))
    return FileSource(path)


def read_patients(source: Source) -> dict[str, str]:
    """Patient ids by note name from `patients.csv` (columns name, patient_id), if the source holds one."""
    if PATIENTS not in source.names():
        return {}
    return parse_patients(source.load(PATIENTS), PATIENTS)


def patients_at(path: Path) -> dict[str, str]:
    """Patient ids by note name from a CSV on disk. Raises ServiceError naming the path."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ServiceError(
            _("%(path)s: can't be read (%(strerror)s); nothing was taken") % {"path": path, "strerror": error.strerror},
            code="path",
        ) from error
    return parse_patients(data, path.name)


def parse_patients(data: bytes, file: str) -> dict[str, str]:
    """Patient ids by note name from a CSV with the columns name and patient_id, parted by commas or semicolons.

    Raises ServiceError naming the line; nothing is taken then.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ServiceError(_("%(file)s is not UTF-8; nothing was taken") % {"file": file}, code="patients") from error
    if "\0" in text:
        raise ServiceError(
            _("%(file)s holds NUL characters and is no CSV; nothing was taken") % {"file": file}, code="patients"
        )
    head = text.partition("\n")[0]
    # Spreadsheets in much of Europe part columns by semicolons.
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=";" if ";" in head and "," not in head else ",")
    found: dict[str, str] = {}
    try:
        if not {"name", "patient_id"} <= set(rows.fieldnames or ()):
            raise ServiceError(
                _("%(file)s needs the columns name and patient_id; nothing was taken") % {"file": file}, code="patients"
            )
        for row in rows:
            name, patient = (row["name"] or "").strip(), (row["patient_id"] or "").strip()
            if len(patient) > 80:
                raise ServiceError(
                    _("%(file)s, line %(line_num)s: a patient id has at most 80 characters; nothing was taken")
                    % {"file": file, "line_num": rows.line_num},
                    code="patients",
                )
            if bad := bad_character(patient):
                raise ServiceError(
                    _(
                        "%(file)s, line %(line_num)s: the patient id holds %(character)s, a control character or one "
                        "that turns the direction of text; nothing was taken"
                    )
                    % {"file": file, "line_num": rows.line_num, "character": bad},
                    code="patients",
                )
            found[name.removesuffix(".txt")] = patient
    except csv.Error as error:
        raise ServiceError(
            _("%(file)s, line %(line_num)s: this is no readable CSV") % {"file": file, "line_num": rows.line_num},
            code="patients",
        ) from error
    return found
