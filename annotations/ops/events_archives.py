"""Events of project archives."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import Verb


class ArchiveImported(TypedDict):
    """`accounts`: for how many people of the archive an inactive account was made here."""

    notes: int
    sets: int
    spans: int
    people: int
    accounts: int


class WorkClaimed(TypedDict):
    sets: int


ARCHIVE_IMPORTED = Verb[ArchiveImported]("archive.imported", _("imported the project from an archive"))
WORK_CLAIMED = Verb[WorkClaimed]("archive.claimed", _("took over the imported work under their name"))
