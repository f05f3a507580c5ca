"""ZIP and TAR (plain, gz, bz2, xz) of documents. Only ordinary files are unpacked, in memory, one at a time."""

import stat
import tarfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, Final

from annotations.formats.base import is_system_file
from annotations.formats.documents.base import DocumentSource, Result, refused, stem
from annotations.formats.files.zips import DAMAGED, TooManyEntries, open_zip
from annotations.formats.notes import NoteError, ParsedNote, check_name
from annotations.text.wording import gettext as _
from annotations.text.wording import gettext_noop

# A file in an archive may be packed better than `Limits.ratio` up to this size, since it does no harm.
_SMALL: Final = 1 << 20
_CHUNK: Final = 1 << 16
_DAMAGED: Final = (*DAMAGED, tarfile.TarError)
_BROKEN: Final = gettext_noop("The archive is damaged: some files in it can't be unpacked. Make the archive again.")


def read_zip(source: DocumentSource) -> Iterator[Result]:
    """The notes of all documents in a ZIP."""
    source.file.seek(0)
    try:
        archive = open_zip(source.file)
    except TooManyEntries:
        raise _too_many(source) from None
    except _DAMAGED:
        raise refused(source.name, "damaged", _(_BROKEN)) from None
    reading = _ArchiveState(source)
    for entry in archive.infolist():
        if entry.is_dir():
            continue
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if stat.S_ISLNK(kind) or (kind and not stat.S_ISREG(kind)):
            yield _link(entry.filename)
        elif entry.flag_bits & 1:
            yield refused(entry.filename, "encrypted", _("The file is encrypted. Pack it without a password."))
        else:
            yield from reading.member(entry.filename, partial(archive.open, entry), entry.compress_size)


def read_tar(source: DocumentSource) -> Iterator[Result]:
    """The notes of all documents in a TAR, which may be packed as gz, bz2 or xz."""
    source.file.seek(0)
    reading = _ArchiveState(source)
    packed = source.file.seek(0, 2)
    source.file.seek(0)
    try:
        with tarfile.open(fileobj=source.file, mode="r:*") as archive:
            for entry in archive:
                # What precedes a member is unpacked to reach it, whether it is read or not.
                if entry.offset_data + entry.size > source.limits.unpacked:
                    raise reading.too_large()
                if entry.isdir():
                    continue
                if entry.isreg():
                    yield from reading.member(entry.name, partial(archive.extractfile, entry), packed)
                else:
                    yield _link(entry.name)
                archive.members = []  # type: ignore[attr-defined]  # it is documented nowhere, and would keep all names
    except _DAMAGED:
        raise refused(source.name, "damaged", _(_BROKEN)) from None


class _ArchiveState:
    """The state of reading one archive: names, and the number of its entries."""

    def __init__(self, source: DocumentSource) -> None:
        self._source = source
        self._names: set[str] = set()
        self._stems: set[str] = set()
        self._members = 0

    def member(self, name: str, opened: Callable[[], IO[bytes] | None], packed: int) -> Iterator[Result]:
        """The notes of one file of the archive, or why there are none."""
        self._members += 1
        if self._members > self._source.limits.members:
            raise _too_many(self._source)
        name = name.removeprefix("./")
        if is_system_file(name):
            return
        try:
            check_name(name)
        except NoteError as error:
            yield error
            return
        if name in self._names:
            yield refused(name, "same name", _("The archive has two files with this name. The first one was read."))
            return
        self._names.add(name)
        try:
            with opened() as file:  # type: ignore[union-attr]  # None only for what is not an ordinary file
                data = self._load(name, file, packed)
        except _Whole:
            raise
        except NoteError as error:
            yield error
            return
        except _DAMAGED:
            yield refused(name, "damaged", _("The file can't be unpacked: it is damaged, or packed in an unknown way."))
            return
        # Of two documents that differ only in the ending, the second keeps it in its name.
        short = stem(name) not in self._stems
        self._stems.add(stem(name))
        for each in self._source.inner(name, data):
            if not short and isinstance(each, ParsedNote) and each.name == stem(name):
                each.name = name
            yield each

    def _load(self, name: str, file: IO[bytes], packed: int) -> bytes:
        """The content of a member. Its sizes in the archive's directory may be false, so what comes out is counted."""
        chunks: list[bytes] = []
        size = 0
        while chunk := file.read(_CHUNK):
            size += len(chunk)
            if size > _SMALL and size > self._source.limits.ratio * max(packed, 1):
                message = _(
                    "The file is more than {ratio} times as long as its packed form. It was not read, since such "
                    "files are made to fill memory. Import it unpacked if you need it.",
                    self._source.limits.ratio,
                )
                raise refused(name, "bomb", message)
            if not self._source.budget.take(len(chunk)):
                raise self.too_large()
            chunks.append(chunk)
        return b"".join(chunks)

    def too_large(self) -> NoteError:
        """The error that ends the reading of the archive."""
        most = self._source.limits.unpacked >> 20
        message = _("The archive holds more than {most:,} MiB. Split it. What comes before was read.", most)
        return _Whole(refused(self._source.name, "too large", message).problems)


class _Whole(NoteError):
    """A reason to stop reading the archive, unlike a reason to leave out one member."""


def _link(name: str) -> NoteError:
    return refused(name, "link", _("The entry is a link or a device, not a file. Pack the file itself."))


def _too_many(source: DocumentSource) -> NoteError:
    message = _("The archive holds more than {members:,} files. Split it.", source.limits.members)
    return refused(source.name, "too many", message)
