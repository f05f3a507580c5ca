"""The file of a project archive: a ZIP of a manifest and one JSON Lines file per table.

`manifest.json` names the format and its version, the program's version, and the size, the number of rows and the
SHA-256 of every other file. All files are in the root of the ZIP. The same rows give the same bytes.
"""

import hashlib
import json
import zipfile
from collections.abc import Iterator, Mapping
from typing import IO, Any, Final, NamedTuple, Self, TypeGuard

from annotations.formats.files.json_files import JsonError, read_json
from annotations.formats.files.zips import DAMAGED, TooManyEntries, new_entry, open_zip
from annotations.text.wording import WordedError
from annotations.text.wording import gettext as _

PRODUCT: Final = "deidreview"
FORMAT: Final = "archive"
VERSION: Final = 2
MANIFEST: Final = "manifest.json"
# A manifest lists a few dozen files.
BIGGEST_MANIFEST: Final = 1024 * 1024
# The longest line is that of the largest note, or of an annotation set with as many spans as one may have.
LONGEST_LINE: Final = 64 * 1024 * 1024
# JSON Lines of real projects shrink to a twentieth; DEFLATE can't do better than one in 1,032.
MOST_SHRUNK: Final = 400
SMALL: Final = 16 * 1024 * 1024
BLOCK: Final = 1024 * 1024


class ArchiveError(WordedError):
    """An archive that can't be read. The message is a sentence that quotes no note; `line` counts from 1."""

    def __init__(self, sentence: str, *values: object, file: str = "", line: int | None = None) -> None:
        super().__init__(sentence, *values)
        self.file, self.line = file, line

    def __str__(self) -> str:
        place = _("{file}, line {line}", self.file, self.line) if self.line else self.file
        return f"{place}: {super().__str__()}" if place else super().__str__()


class ArchivedFile(NamedTuple):
    """A file of the archive, as its manifest describes it."""

    rows: int
    bytes: int
    sha256: str


def is_archive(file: IO[bytes]) -> bool:
    """Whether a file says that it is a project archive, of any version. It is not checked further."""
    try:
        with open_zip(file) as opened:
            entry = opened.getinfo(MANIFEST)
            with opened.open(entry) as member:
                return _is_ours(read_json(member.read(BIGGEST_MANIFEST)))
    except (*DAMAGED, KeyError, TooManyEntries):
        return False


def _is_ours(manifest: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(manifest, dict) and (manifest.get("product"), manifest.get("format")) == (PRODUCT, FORMAT)


class _Archive:
    """A context that closes a ZIP."""

    _zip: zipfile.ZipFile

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()


class ArchiveWriter(_Archive):
    """Writes an archive, one file after another; `finish` adds the manifest."""

    def __init__(self, target: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED)
        self.members: dict[str, ArchivedFile] = {}

    def write(self, name: str, rows: Iterator[Mapping[str, Any]]) -> None:
        """Write a file with one line for each row."""
        digest, size, count = hashlib.sha256(), 0, 0
        with self._zip.open(new_entry(name), "w", force_zip64=True) as member:
            for row in rows:
                # Without white space and with sorted keys, the same row gives the same bytes.
                text = json.dumps(row, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
                line = text.encode() + b"\n"
                member.write(line)
                digest.update(line)
                size += len(line)
                count += 1
        self.members[name] = ArchivedFile(count, size, digest.hexdigest())

    def finish(self, about: Mapping[str, Any]) -> dict[str, Any]:
        """Write the manifest, with what it says `about` the project. Return it."""
        files = {name: member._asdict() for name, member in self.members.items()}
        manifest = {"product": PRODUCT, "format": FORMAT, "format_version": VERSION, **about, "files": files}
        self._zip.writestr(new_entry(MANIFEST), json.dumps(manifest, ensure_ascii=False, indent=1, sort_keys=True))
        self._zip.close()
        return manifest


class ArchiveReader(_Archive):
    """Reads an archive whose files are exactly `names`. Raises ArchiveError, in the constructor and in all methods.

    Nothing is unpacked to disk, and one line at a time is in memory.
    """

    def __init__(self, file: IO[bytes], names: frozenset[str]) -> None:
        try:
            self._zip = open_zip(file)
        except TooManyEntries:
            raise ArchiveError("The ZIP has too many files for a project archive.") from None
        except DAMAGED:
            raise ArchiveError("The file is damaged, or it is not a ZIP. Use another copy of the archive.") from None
        self._entries = self._checked_entries()
        self.manifest = self._read_manifest()
        self.members = self._checked_members(names)

    def verify(self, name: str) -> None:
        """Check the SHA-256 and the number of rows of a file."""
        digest, rows = hashlib.sha256(), 0
        wanted = self.members[name]
        try:
            with self._zip.open(self._entries[name]) as member:
                while block := member.read(BLOCK):
                    digest.update(block)
                    rows += block.count(b"\n")
        except DAMAGED:
            raise ArchiveError("The file is damaged. Use another copy of the archive.", file=name) from None
        if digest.hexdigest() != wanted.sha256:
            raise ArchiveError(
                "The content doesn't match its SHA-256 in the manifest. Use another copy of the archive.", file=name
            )
        if rows != wanted.rows:
            raise ArchiveError("The file has {rows} rows, but the manifest says {said}.", rows, wanted.rows, file=name)

    def rows(self, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield each row of a file with the number of its line."""
        number = 0
        try:
            with self._zip.open(self._entries[name]) as member:
                while line := member.readline(LONGEST_LINE + 1):
                    number += 1
                    if len(line) > LONGEST_LINE:
                        raise ArchiveError("The line is longer than 64 MB.", file=name, line=number)
                    yield number, _object(line, name, number)
        except DAMAGED:
            raise ArchiveError("The file is damaged from here on.", file=name, line=number + 1) from None

    def _checked_entries(self) -> dict[str, zipfile.ZipInfo]:
        found: dict[str, zipfile.ZipInfo] = {}
        for number, entry in enumerate(self._zip.infolist(), start=1):
            shown = entry.filename if entry.filename.isprintable() else f"entry {number}"
            if entry.filename in found:
                raise ArchiveError("The ZIP has two files of this name.", file=shown)
            if not entry.filename or entry.is_dir() or set(entry.filename) & set("/\\:") or entry.filename[0] == ".":
                raise ArchiveError("A project archive has no folders and no paths. Nothing was unpacked.", file=shown)
            if entry.flag_bits & 0x1:
                raise ArchiveError("The file is encrypted. Decrypt the archive first.", file=shown)
            if entry.file_size > SMALL and entry.file_size > MOST_SHRUNK * max(entry.compress_size, 1):
                raise ArchiveError(
                    "The file would grow to more than {most} times its size, as a zip bomb does.",
                    MOST_SHRUNK,
                    file=shown,
                )
            found[entry.filename] = entry
        return found

    def _read_manifest(self) -> dict[str, Any]:
        entry = self._entries.get(MANIFEST)
        if entry is None:
            raise ArchiveError("This is not a project archive: it has no {manifest}.", MANIFEST)
        if entry.file_size > BIGGEST_MANIFEST:
            raise ArchiveError("The manifest is larger than 1 MB.", file=MANIFEST)
        try:
            with self._zip.open(entry) as member:
                found = read_json(member.read(BIGGEST_MANIFEST + 1))
        except JsonError as error:
            raise ArchiveError(_said(error), file=MANIFEST) from None
        except DAMAGED:
            raise ArchiveError("The manifest is damaged. Use another copy of the archive.", file=MANIFEST) from None
        if not _is_ours(found):
            raise ArchiveError("This is not a project archive of deidreview.", file=MANIFEST)
        if found.get("format_version") != VERSION or isinstance(found.get("format_version"), bool):
            raise ArchiveError(
                "The format version must be {version}. The archive was made by another version of deidreview; "
                "import it with that version.",
                VERSION,
                file=MANIFEST,
            )
        return found

    def _checked_members(self, names: frozenset[str]) -> dict[str, ArchivedFile]:
        files = self.manifest.get("files")
        if not isinstance(files, dict):
            raise ArchiveError("“files” must list the files of the archive.", file=MANIFEST)
        there = set(self._entries) - {MANIFEST}
        for name in sorted(there | set(files) | names):
            if name not in names:
                raise ArchiveError(
                    "The file is not part of a project archive of this version. Remove it, or use a newer deidreview.",
                    file=name if name.isprintable() else "",
                )
            if name not in there or name not in files:
                where = "the ZIP" if name not in there else "the manifest"
                raise ArchiveError("The file is missing in {where}. Use another copy of the archive.", where, file=name)
        found = {}
        for name, about in files.items():
            rows, size, sha256 = (about.get(key) if isinstance(about, dict) else None for key in ArchivedFile._fields)
            if type(rows) is not int or type(size) is not int or not isinstance(sha256, str) or len(about) > 3:
                raise ArchiveError("“files” must give rows, bytes and sha256 of {name}.", name, file=MANIFEST)
            if size != self._entries[name].file_size:
                raise ArchiveError(
                    "The file has {count} bytes, but the manifest says {said}.",
                    *(self._entries[name].file_size, size),
                    file=name,
                )
            found[name] = ArchivedFile(rows, size, sha256)
        return found


def _object(line: bytes, name: str, number: int) -> dict[str, Any]:
    try:
        found = read_json(line)
    except JsonError as error:
        raise ArchiveError(_said(error), file=name, line=number) from None
    if not isinstance(found, dict):
        raise ArchiveError("The line must be a JSON object.", file=name, line=number)
    return found


def _said(error: JsonError) -> str:
    return str(error).replace("The request", "The line")
