"""How work that reads notes for a while and then stores something learns that a patient was erased in between.

The work notes the project's count of erasures before it reads (`erasures_of`). In the transaction that stores what it
made, it calls `unerased`, or `hold` where it asks for each note whether it is still there. Both hold a lock that keeps
erasures out, as an erasure keeps them out: whichever comes second sees the other's work. So what was made of an erased
note is either stored before the erasure, which deletes it, or not stored at all.
"""

from django.db import connection
from django.db.models import F
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.label_lock import advisory_lock
from annotations.models import Project

# The name of the lock, beside that of the labels (annotations.core.label_lock).
_ERASURES = 0x6E01


class ErasedMeanwhile(ServiceError):
    """A patient was erased while work on the project's notes was under way; nothing of that work was stored."""

    def __init__(self) -> None:
        super().__init__(
            _("a patient's notes were erased while this was under way; nothing was stored: start it again"),
            code="erased",
        )


def erasures_of(project_id: int) -> int:
    """How many times a patient was erased in the project. Ask before the first note is read."""
    return Project.objects.values_list("erasures", flat=True).get(pk=project_id)


def hold(project_id: int) -> int:
    """Keep erasures out until the caller's transaction ends; returns their count.

    What was read of notes before this call may be erased by now: ask for each note again, or call `unerased`.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("hold() belongs inside the transaction that stores what was made of notes")
    advisory_lock(_ERASURES, project_id, shared=True)
    return erasures_of(project_id)


def begin_erasure(project_id: int) -> None:
    """Until the caller's transaction ends nobody stores what was made of the project's notes; then the count is one
    higher. To be called before any other lock is taken.
    """
    advisory_lock(_ERASURES, project_id, shared=False)
    Project.objects.filter(pk=project_id).update(erasures=F("erasures") + 1)


def unerased(project_id: int, begun: int) -> None:
    """Hold the project, provided that no patient was erased since `erasures_of` said `begun`.

    Raises ErasedMeanwhile, which rolls the caller's transaction back.
    """
    if hold(project_id) != begun:
        raise ErasedMeanwhile
