"""A lock between merging labels and writing spans.

A merge changes the spans that it sees. A span that another transaction has not committed yet is not among them and
would keep the merged label, since the foreign key is checked only at the commit. Therefore a transaction that writes
labels of spans first takes the project's lock, shared, and a merge takes it exclusively. SQLite runs writing
transactions one after another anyway.
"""

from functools import partial

from django.core.exceptions import PermissionDenied
from django.db import connection
from django.db.models import F
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.models import Project
from annotations.models.prepared import PreparedRead

# Any number that no other lock uses: all advisory locks share one number space.
_LABELS = 0x6C61_6265


def advisory_lock(space: int, project_id: int, *, shared: bool, wait: bool = True) -> bool:
    """Take a lock on a project until the transaction ends. SQLite needs none: its transactions write one by one.

    Without `wait`, return False if another transaction has the lock.
    """
    if connection.vendor != "postgresql":
        return True
    with connection.cursor() as cursor:
        # A project id has 64 bits; the second number of an advisory lock has 32.
        name = f"pg_{'' if wait else 'try_'}advisory_xact_lock{'_shared' if shared else ''}"
        cursor.execute(f"SELECT {name}(%s, %s)", [space, project_id % 2**31])
        return bool(cursor.fetchone() != (False,))


keep_labels = partial(advisory_lock, _LABELS, shared=True)
"""Exclude merges of the project's labels until the transaction ends. Call it before any other lock is taken."""
change_labels = partial(advisory_lock, _LABELS, shared=False)
"""Wait for transactions that write labels of spans, and exclude new ones until the transaction ends."""


# Erasing notes while long work reads the same notes: the work must not store anything about erased notes.
#
# The work takes the project's count of erasures before it reads any note (`erasures_of`). In the transaction that
# stores its results it calls `unerased`, or `hold` where it checks for each note whether the note still exists. Both
# take a lock that excludes erasures; an erasure takes the same lock alone. So results about an erased note are either
# stored before the erasure, which deletes them, or not stored at all.


# The number of this lock, different from that of the labels (annotations.core.locks).
_ERASURES = 0x6E01


class ErasedMeanwhile(ServiceError):
    """Notes were erased during work on the project's notes; the work's results were not stored."""

    def __init__(self) -> None:
        message = _("Notes of this project were erased during this work, so nothing was stored. Start it again.")
        super().__init__(message, code="erased")


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


# Archived projects, which nobody can change before a manager restores them.
#
# On pages, the rights of every role shrink to reading (annotations.core.access). Whatever else changes a project is
# refused in its own transaction: each change records an event (annotations.core.events), and long work begins with a
# job.


# The number of this lock, different from those of the labels and of erasures.
_ARCHIVING = 0xA2C4
# Every recorded event asks this, also that of a span.
_ARCHIVED = PreparedRead(
    lambda project: Project.objects.filter(pk=project, archived_at__isnull=False).order_by().values_list("pk"), int
)


class ProjectArchived(ServiceError, PermissionDenied):
    """The project is archived, so it can't be changed. Pages answer with 403 and this sentence."""

    def __init__(self) -> None:
        message = _("This project is archived. A manager can restore it in the project settings.")
        super().__init__(message, code="archived")


def check_open(project_id: int) -> None:
    """Raise ProjectArchived, which rolls the caller's transaction back, if the project is archived."""
    if _ARCHIVED.first(project_id) is not None:
        raise ProjectArchived


def keep_open(project_id: int) -> None:
    """Like `check_open`, and keep the project from being archived until the caller's transaction ends."""
    advisory_lock(_ARCHIVING, project_id, shared=True)
    check_open(project_id)


def begin_archiving(project_id: int) -> None:
    """Wait for transactions that called `keep_open`, and exclude new ones until the transaction ends."""
    advisory_lock(_ARCHIVING, project_id, shared=False)
