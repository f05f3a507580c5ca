"""Open flags of notes: all flags for members who may see all notes, else one's own."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import ngettext

from annotations.core.access import Access, Can, notes_for
from annotations.core.authors import user_namer
from annotations.core.navigation import MOST
from annotations.models import Document, Flag
from annotations.text.names import MAX_ID


@dataclass(frozen=True)
class OpenFlag:
    """An open flag. `why` is the reason in words."""

    id: int
    reason: str
    why: str
    text: str
    by: str
    own: bool
    at: datetime


def open_flags(access: Access) -> QuerySet[Flag]:
    """Open flags of the project that the user may see. Annotators see only their own."""
    flags = Flag.objects.filter(document__project_id=access.project.pk, cleared_at__isnull=True)
    return flags if access.can(Can.READ_NOTES) else flags.filter(user_id=access.user.pk)


def notes_flagged(access: Access) -> int:
    """Count the flagged notes that this person sees in the list, up to one more than the header shows."""
    flags = open_flags(access)
    if access.blind:
        flags = flags.filter(document__in=notes_for(access))
    return flags.order_by().values("document_id").distinct()[: MOST + 1].count()


def may_clear(access: Access, flag: Flag) -> bool:
    """Whether the user may remove the flag: its author and reviewers may."""
    return flag.user_id == access.user.pk or (access.can(Can.READ_NOTES) and access.can(Can.ANNOTATE))


def flags_of(access: Access, document: Document) -> list[OpenFlag]:
    """Open flags of one note, one's own first."""
    rows = open_flags(access).filter(document_id=document.pk).select_related("user").order_by("id")
    called = user_namer(access, document.pk)
    found = [
        OpenFlag(
            id=flag.pk,
            reason=flag.reason,
            why=str(Flag.Reason(flag.reason).label),
            text=flag.text,
            by=called(flag.user),
            own=flag.user_id == access.user.pk,
            at=flag.raised_at.replace(microsecond=0),
        )
        for flag in rows
    ]
    return sorted(found, key=lambda flag: not flag.own)


def flaggers(access: Access) -> tuple[int, int]:
    """Smallest and largest id of the users whose flags the user may see, as parameters of prepared statements."""
    return (0, MAX_ID) if access.can(Can.READ_NOTES) else (access.user.pk, access.user.pk)


def open_flag_rows(notes: Sequence[int]) -> "QuerySet[Flag, Any]":
    """Note, user and reason of all open flags on these notes."""
    rows = Flag.objects.filter(document_id__in=notes, cleared_at__isnull=True).order_by("id")
    return rows.values_list("document_id", "user_id", "reason")


def flag_labels(access: Access, rows: Iterable[tuple[int, int, str]]) -> dict[int, str]:
    """For each flagged note, the reason or the number of people who flagged it, as far as the user may know."""
    reasons: dict[int, list[str]] = defaultdict(list)
    for note, user, reason in rows:
        if not access.blind or user == access.user.pk:
            reasons[note].append(reason)
    return {note: _label(found) for note, found in reasons.items()}


def _label(reasons: list[str]) -> str:
    if len(set(reasons)) == 1:
        label = str(Flag.Reason(reasons[0]).label)
        return label if len(reasons) == 1 else f"{label} (×{len(reasons)})"
    return ngettext("%(n)d person", "%(n)d people", len(reasons)) % {"n": len(reasons)}
