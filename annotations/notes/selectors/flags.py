"""Flags of notes: a person's own, and for those who may read every note all that are open."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, TypedDict

from django.db.models import QuerySet
from django.utils.translation import ngettext

from annotations.core.access import Access, Can
from annotations.core.naming import callers
from annotations.domain.numbers import MAX_ID
from annotations.models import Document, Flag

# The largest id.


class FlagItem(TypedDict):
    """An open flag as pages get it. `why` is the reason in words."""

    id: int
    reason: str
    why: str
    text: str
    by: str
    own: bool
    at: str


def open_flags(access: Access) -> QuerySet[Flag]:
    """The open flags of the project that this person may see: an annotator only their own."""
    flags = Flag.objects.filter(document__project_id=access.project.pk, cleared_at__isnull=True)
    return flags if access.can(Can.READ_NOTES) else flags.filter(user_id=access.user.pk)


def may_clear(access: Access, flag: Flag) -> bool:
    """Its author, or a reviewer."""
    return flag.user_id == access.user.pk or (access.can(Can.READ_NOTES) and access.can(Can.ANNOTATE))


def flags_of(access: Access, document: Document) -> list[FlagItem]:
    """The open flags of one note, one's own first."""
    rows = open_flags(access).filter(document_id=document.pk).select_related("user").order_by("id")
    called = callers(access, document.pk)
    found = [
        FlagItem(
            id=flag.pk,
            reason=flag.reason,
            why=str(Flag.Reason(flag.reason).label),
            text=flag.text,
            by=called(flag.user),
            own=flag.user_id == access.user.pk,
            at=flag.raised_at.isoformat(timespec="seconds"),
        )
        for flag in rows
    ]
    return sorted(found, key=lambda flag: not flag["own"])


def flaggers(access: Access) -> tuple[int, int]:
    """Whose flags this person may see, as the first and the last user id: for statements that are prepared."""
    return (0, MAX_ID) if access.can(Can.READ_NOTES) else (access.user.pk, access.user.pk)


def open_flag_rows(notes: Sequence[int]) -> "QuerySet[Flag, Any]":
    """Note, person and reason of everybody's open flags on these notes."""
    rows = Flag.objects.filter(document_id__in=notes, cleared_at__isnull=True).order_by("id")
    return rows.values_list("document_id", "user_id", "reason")


def flag_words(access: Access, rows: Iterable[tuple[int, int, str]]) -> dict[int, str]:
    """For each flagged note, as far as this person may know, a few words: the reason, or how many people flagged it."""
    reasons: dict[int, list[str]] = defaultdict(list)
    for note, user, reason in rows:
        if not access.blind or user == access.user.pk:
            reasons[note].append(reason)
    return {note: _words(found) for note, found in reasons.items()}


def _words(reasons: list[str]) -> str:
    if len(set(reasons)) == 1:
        words = str(Flag.Reason(reasons[0]).label)
        return words if len(reasons) == 1 else f"{words} (×{len(reasons)})"
    return ngettext("%(n)d person", "%(n)d people", len(reasons)) % {"n": len(reasons)}
