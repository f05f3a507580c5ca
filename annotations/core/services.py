"""What every service shares: its errors, the progress of its long work, its locks, and its events."""

import uuid
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Generic, Never, Protocol, TypedDict, TypeVar, Unpack, overload

from django.core.exceptions import PermissionDenied
from django.db import connection
from django.db.models import F
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from annotations.core.bulk import insert_object, insert_objects
from annotations.core.errors import ServiceError as ServiceError
from annotations.core.hooks import Hook
from annotations.models import Document, Event, Project, User
from annotations.models.prepared import PreparedRead
from annotations.text.names import bad_character, printable


def check_choice(value: str, choices: Collection[str], message: str, *, code: str) -> None:
    """Raise ServiceError unless the value is one of the choices. The message names %(name)s and %(choices)s."""
    if value not in choices:
        raise ServiceError(message % {"name": value[:80], "choices": ", ".join(choices)}, code=code)


class LimitReached(Exception):
    """A person requests more than one person may have at a time. The message is a sentence for them.

    Not a ServiceError: every page answers it with the status 429 (deidreview.limits). `retry_after` is in seconds.
    """

    def __init__(self, message: str, *, code: str, retry_after: int) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after = retry_after


# The rule for names of projects, labels, people, runs and models, from pages, commands and files alike.


def good_name(name: str, *, code: str = "name") -> str:
    """Return the name without surrounding white space. Raises ServiceError (`code`) for a hidden character in it."""
    name = name.strip()
    if bad := bad_character(name):
        message = _(
            "“%(name)s” contains %(character)s, a hidden character that controls text or its direction. Remove it."
        )
        raise ServiceError(message % {"name": printable(name)[:80], "character": bad}, code=code)
    return name


class Canceled(Exception):
    """Somebody asked the work to stop. Raised by a progress call."""


class Progress(Protocol):
    def __call__(self, done: int, total: int) -> None:
        """Report how much is done. Raises Canceled when the work must stop."""


def silent(done: int, total: int) -> None:
    """Ignore progress, for callers that don't need it."""


Fence = Callable[[], object]
"""Called in each transaction of long work: a worker's `claim.fence`, so that only who has the job writes."""


def no_fence() -> None:
    """The fence of work without a job."""


# A lock between merging labels and writing spans.
#
# A merge changes the spans that it sees. A span that another transaction has not committed yet is not among them and
# would keep the merged label, since the foreign key is checked only at the commit. Therefore a transaction that writes
# labels of spans first takes the project's lock, shared, and a merge takes it exclusively. SQLite runs writing
# transactions one after another anyway.


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
# refused in its own transaction: each change records an event (`Verb.record`), and long work begins with a job.


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


# The audit trail: every change and every read of a note writes one event.
#
# Each feature defines the verbs that it writes, and the data of their events, in its module `events`. Here are the
# verbs that a lower feature than their writer reads, or that several features write.
#
# Data are ids, offsets, labels and counts, under the keys that are stored. A key that is renamed needs a migration
# that renames it in all stored events. Data read from the database has passed through JSON, so tuples have become
# lists.


if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise

Data = TypeVar("Data", contravariant=True)


class Whose(TypedDict, total=False):
    """Who did it, and where: in a `note` with its project, or by ids.

    `change_id` makes a replay harmless; `reverts` is the event that this one undoes.
    """

    actor: User | None
    note: Document
    project_id: int | None
    document_id: int | None
    annotation_set_id: int | None
    change_id: uuid.UUID | None
    reverts: int | None


class NoData(TypedDict):
    """The data of an event whose verb says everything."""


class NoteRead(TypedDict, total=False):
    """What was opened, if not the note's text: an annotation set, a run, or the part that a page shows (`what`)."""

    set: int
    run: int
    what: str


class Verb(str, Generic[Data]):
    """What happened: the stored value, and the sentence of the audit trail. `Data` is the type of its events' data.

    A verb is known as soon as it is defined. CoreConfig imports the module `events` of every feature. `reading`: the
    act changes nothing, so that it is possible in an archived project.
    """

    sentence: "_StrOrPromise"
    reading: bool
    watchers: Hook

    def __new__(cls, value: str, sentence: "_StrOrPromise", *, reading: bool = False) -> "Verb[Data]":
        if value in _VERBS:
            raise ValueError(f"The verb “{value}” is defined twice.")
        verb = super().__new__(cls, value)
        verb.sentence, verb.reading, verb.watchers = sentence, reading, Hook()
        _VERBS[value] = verb
        return verb

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """Copy a verb as its stored value: Django copies the values of filters."""
        return str, (str(self),)

    @overload
    def record(self, *, data: Data, **whose: Unpack[Whose]) -> Event: ...
    @overload
    def record(self: "Verb[NoteRead]", **whose: Unpack[Whose]) -> Event: ...
    def record(self, *, data: object = None, **whose: Unpack[Whose]) -> Event:
        """Append one event. `data` holds ids, offsets, labels and counts: never note text or text that a person typed.

        The type checker refuses data that is not of the verb's type. Only verbs whose data may be empty go without.
        Raises ProjectArchived, unless the act only reads, so that the change of the caller's transaction is undone.
        """
        actor, note = whose.pop("actor", None), whose.pop("note", None)
        if note is not None:
            whose["project_id"], whose["document_id"] = note.project_id, note.pk
        event = Event(verb=self, actor_id=actor.pk if actor else None, data=data or {}, **whose)
        if event.project_id is not None and not self.reading:
            check_open(event.project_id)
        # What somebody read needs no wait for the disk of its own. PostgreSQL groups commits by itself.
        with getattr(connection, "without_waiting", nullcontext)() if self.reading else nullcontext():
            insert_object(event)
        self.watchers(event)
        return event

    def record_all(self, project_id: int, rows: Iterable[tuple[Whose, Data]]) -> None:
        """Append an event for each row, with a constant number of queries. The events are of one project."""
        events = [Event(verb=self, data=data or {}, **{**whose, "project_id": project_id}) for whose, data in rows]
        if events and not self.reading:
            check_open(project_id)
        insert_objects(Event, events)
        for event in events:
            self.watchers(event)

    def happened(self, project_id: int, **about: object) -> bool:
        """Whether the project has such an event, for example that something was deleted before a double click."""
        return Event.objects.filter(project_id=project_id, verb=self, **about).exists()


_VERBS: dict[str, Verb[Never]] = {}


def sentences() -> dict[str, str]:
    """Return the sentence of each verb by the verb's stored value, in the order of the sentences."""
    return dict(sorted(((value, str(verb.sentence)) for value, verb in _VERBS.items()), key=lambda pair: pair[1]))


Bounds = Sequence[int]
"""Start, end (code points, end-exclusive) and label id."""


class SetSeeded(TypedDict):
    from_set: int
    author: int
    spans: int


class Erasure(TypedDict):
    """How many rows of each type erasing a patient or deleting a note removes.

    `copies` counts notes of other projects with the same texts, which stay.
    """

    notes: int
    annotation_sets: int
    gold_versions: int
    stored_files: int
    models: int
    copies: int


class PatientErased(Erasure):
    documents: list[int]


class FileDownloaded(TypedDict, total=False):
    """A stored file, or a table: the decision log, the sentences with disagreements or the errors of a score in a
    format, the units of agreement, the comments."""

    file: int
    size: int
    kind: str
    decisions: str
    sentences: str
    errors: str
    agreement: str
    comments: str


class ArchiveWritten(TypedDict):
    notes: int
    sets: int
    spans: int
    sha256: str


NOTE_READ = Verb[NoteRead]("note.read", lazy("opened a note"), reading=True)
SET_SEEDED = Verb[SetSeeded]("set.seeded", lazy("began from a model's spans"))
PATIENT_ERASED = Verb[PatientErased]("patient.erased", lazy("erased a patient's notes"))
NOTE_DELETED = Verb[Erasure]("note.deleted", lazy("deleted a note"))
FILE_DOWNLOADED = Verb[FileDownloaded]("file.downloaded", lazy("downloaded a file"), reading=True)
ARCHIVE_WRITTEN = Verb[ArchiveWritten](
    "archive.written", lazy("exported the whole project as an archive"), reading=True
)


def record_reads(*, actor: User | None, project_id: int, notes: Iterable[int], what: str) -> None:
    """Record that a person was shown text of each of these notes. `what` is the kind of page.

    Whatever shows text of several notes calls this: certificates list the people whom these events name.
    """
    NOTE_READ.record_all(
        project_id, [({"actor": actor, "document_id": note}, {"what": what}) for note in sorted(set(notes))]
    )


# Events of API tokens.


class TokenEvent(TypedDict):
    token: int
    user: str
    scope: str


TOKEN_CREATED = Verb[TokenEvent]("token.created", lazy("created an API token"), reading=True)
TOKEN_REVOKED = Verb[TokenEvent]("token.revoked", lazy("revoked an API token"))
