"""Events of project archives."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import Verb


class ArchiveWritten(TypedDict):
    notes: int
    sets: int
    spans: int
    sha256: str


class ArchiveImported(TypedDict):
    """`accounts`: how many people of the archive got a new account here."""

    notes: int
    sets: int
    spans: int
    people: int
    accounts: int


ARCHIVE_WRITTEN = Verb[ArchiveWritten]("archive.written", _("exported the whole project as an archive"), reading=True)
ARCHIVE_IMPORTED = Verb[ArchiveImported]("archive.imported", _("imported the project from an archive"))
