"""Erasing notes while long work reads the same notes: the work must not store anything about erased notes.

The work takes the project's count of erasures before it reads any note (`erasures_of`). In the transaction that stores
its results it calls `unerased`, or `hold` where it checks for each note whether the note still exists. Both take a lock
that excludes erasures; an erasure takes the same lock alone. So results about an erased note are either stored before
the erasure, which deletes them, or not stored at all.
"""

from django.db import connection
from django.db.models import F
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.label_lock import advisory_lock
from annotations.models import Project

# The number of this lock, different from that of the labels (annotations.core.label_lock).
_ERASURES = 0x6E01


class ErasedMeanwhile(ServiceError):
    """Notes were erased during work on the project's notes; the work's results were not stored."""

    def __init__(self) -> None:
        super().__init__(
            _("Notes of this project were erased during this work, so nothing was stored. Start it again."),
            code="erased",
        )


def erasures_of(project_id: int) -> int:
    """Return how many times notes were erased in the project. Call it before the first note is read.

    -1 where the project itself was deleted: no number of an earlier call equals it.
    """
    found = Project.objects.filter(pk=project_id).order_by().values_list("erasures", flat=True).first()
    return -1 if found is None else found


def hold(project_id: int) -> int:
    """Exclude erasures until the caller's transaction ends, and return their count so far.

    Notes that were read before this call may have been erased: check each note again, or call `unerased`.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("Call hold() inside the transaction that stores the results.")
    advisory_lock(_ERASURES, project_id, shared=True)
    return erasures_of(project_id)


def begin_erasure(project_id: int) -> None:
    """Count a new erasure, and keep others from storing results about the project's notes until the transaction ends.

    Call it before any other lock is taken.
    """
    advisory_lock(_ERASURES, project_id, shared=False)
    Project.objects.filter(pk=project_id).update(erasures=F("erasures") + 1)


def unerased(project_id: int, begun: int) -> None:
    """Take the lock of `hold`, and check that no note was erased since `erasures_of` returned `begun`.

    Raises ErasedMeanwhile, which rolls the caller's transaction back.
    """
    if hold(project_id) != begun:
        raise ErasedMeanwhile
