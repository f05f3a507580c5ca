"""Verify certificates with what this instance knows, and read the files of a release from a folder or a zip."""

import hashlib
import os
import stat
import zipfile
import zlib
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import IO

from django.conf import settings
from django.db import OperationalError, ProgrammingError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.services import ServiceError
from annotations.formats.files.zips import TooManyEntries, holds_more, open_zip
from annotations.formats.notes import NoteError, Problem
from annotations.models import Certificate, ReleaseState
from annotations.release.rules.certificates.released_files import MANIFEST, Load
from annotations.release.rules.certificates.signatures import CertificateError, open_certificate
from annotations.release.rules.certificates.verifying import (
    COMMAND,
    Verification,
    VerifierKnowledge,
    VerifyingTerms,
    verify,
)
from annotations.release.selectors.certificates import public_keys
from annotations.text.names import printable

Files = tuple[Collection[str], Load]
HEX = frozenset("0123456789abcdef")
FINGERPRINT = 64
# Exceptions from reading one file of a zip. The errors of zlib are not subclasses of OSError.
_DAMAGED = (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError, ValueError)


def verify_certificate(
    data: bytes, files: Files | None = None, key: str = "", words: VerifyingTerms = COMMAND
) -> Verification:
    """Check a certificate, and released files against it.

    `key` is the fingerprint to trust instead of this instance's keys. Raises ServiceError `key` for a malformed one.
    """
    return verify(data, _known(data, _fingerprint(key)), files, words)


def _fingerprint(key: str) -> str:
    """A fingerprint in the form of certificates; colons and spaces between the digits don't matter."""
    found = key.replace(":", "").replace(" ", "").lower()
    if found and (len(found) != FINGERPRINT or set(found) - HEX):
        message = _("A fingerprint has %(n)s hexadecimal digits. Copy all of it.")
        raise ServiceError(message % {"n": FINGERPRINT}, code="key")
    return found


def _known(data: bytes, key: str) -> VerifierKnowledge:
    """What this instance knows about a certificate. A machine without a database, or without keys, knows nothing."""
    known = VerifierKnowledge(timezone.localdate(), {key} if key else None)
    with suppress(OperationalError, ProgrammingError), transaction.atomic():
        keys = {one.fingerprint for one in public_keys()}
        known = replace(_with_records(known, data), keys=known.keys or keys or None)
    return known


def _with_records(known: VerifierKnowledge, data: bytes) -> VerifierKnowledge:
    """With what the database says of a certificate that this instance has issued."""
    try:
        opened = open_certificate(data)
    except CertificateError:
        return known
    sha256 = hashlib.sha256(opened.json).hexdigest()
    row = Certificate.objects.filter(sha256=sha256).select_related("release").defer("json", "pdf").first()
    if row is None:
        return known
    newest = Certificate.objects.filter(release=row.release_id).order_by("-number").values_list("number", flat=True)[0]
    withdrawn = row.release.state == ReleaseState.WITHDRAWN
    superseded_by = newest if newest != row.number else None
    return replace(known, has_records=True, superseded_by=superseded_by, withdrawn=withdrawn)


def folder_files(root: Path) -> Files:
    """All files in a folder, hidden ones and empty folders too. Reading a link or a folder fails."""
    names = []
    for folder, folders, files in os.walk(root):
        linked = [name for name in folders if (Path(folder) / name).is_symlink()]
        names += [(Path(folder) / name).relative_to(root).as_posix() for name in [*files, *linked]]
        if not (folders or files) and Path(folder) != root:  # Its name may say something.
            names.append(f"{Path(folder).relative_to(root).as_posix()}/")

    def load(name: str) -> bytes:
        try:
            path = root / name
            if path.is_symlink():
                raise OSError("a link")
            return path.read_bytes()
        except OSError:
            raise NoteError([Problem(name, None, "unreadable", "The file can't be read.")]) from None

    return sorted(names), load


def zip_files(file: IO[bytes], most: int | None = None) -> Files:
    """All files in a zip, and empty folders. A single top folder that holds the manifest is dropped from the names.

    Raises ServiceError `zip` for a file that is not a readable zip or has text outside of its files, and `size` for one
    of more than `most` bytes unpacked.
    """
    try:
        archive = open_zip(file)
    except TooManyEntries:
        raise ServiceError(_("The archive holds too many files."), code="zip") from None
    except _DAMAGED:
        raise ServiceError(_("The file is not a readable zip archive."), code="zip") from None
    parents = {str(folder) for entry in archive.infolist() for folder in PurePosixPath(entry.filename).parents}
    entries = [entry for entry in archive.infolist() if not entry.is_dir() or entry.filename.rstrip("/") not in parents]
    if most is not None and sum(entry.file_size for entry in entries) > most:
        message = _("The archive is too large for this page. Use the command verify_certificate instead.")
        raise ServiceError(message, code="size")
    if len({entry.filename for entry in entries}) < len(entries):
        raise ServiceError(_("The archive holds two files of the same name."), code="zip")
    try:
        more = holds_more(archive, file)
    except _DAMAGED:
        more = True
    if more:
        raise ServiceError(
            _("The archive holds comments, fields or bytes that belong to no file. Unpack it, and verify the folder."),
            code="zip",
        )
    tops = {entry.filename.partition("/")[0] for entry in entries}
    prefix = f"{tops.pop()}/" if len(tops) == 1 else ""
    by_name = {entry.filename: entry for entry in entries}
    if prefix + MANIFEST not in by_name:
        prefix = ""
    by_name = {name.removeprefix(prefix): entry for name, entry in by_name.items()}

    def load(name: str) -> bytes:
        entry = by_name[name]
        try:
            if stat.S_ISLNK(entry.external_attr >> 16):
                raise OSError("a link")
            with archive.open(entry) as opened:
                # The size in the archive's directory may be wrong, and only that size was checked.
                return opened.read(entry.file_size + 1)[: entry.file_size]
        except _DAMAGED:
            raise NoteError([Problem(name, None, "zip", "The file is damaged inside the archive.")]) from None

    return sorted(by_name), load


def files_at(path: Path) -> Files:
    """The files of a folder or a zip. Raises ServiceError `path` or `zip`."""
    if path.is_dir():
        return folder_files(path)
    if not path.is_file():
        raise ServiceError(_("There is no folder or zip “%(path)s”.") % {"path": printable(str(path))}, code="path")
    return zip_files(path.open("rb"))


def upload_limit() -> int:
    """The most bytes of an uploaded zip when it is unpacked: a page holds one file of it in memory."""
    return 3 * settings.UPLOAD_MAX_BYTES
