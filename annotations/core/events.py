"""The audit trail: every change and every read of a note writes one event.

Each feature defines the verbs that it writes, and the data of their events, in its module `events`. Here are the verbs
that a lower feature than their writer reads, or that several features write.

Data are ids, offsets, labels and counts, under the keys that are stored. A key that is renamed needs a migration that
renames it in all stored events. Data read from the database has passed through JSON, so tuples have become lists.
"""

import uuid
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Generic, Never, TypedDict, TypeVar, Unpack, overload

from django.db import connection
from django.utils.translation import gettext_lazy as _

from annotations.core.bulk import insert_object, insert_objects
from annotations.core.hooks import Hook
from annotations.core.locks import check_open
from annotations.models import Document, Event, User

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


NOTE_READ = Verb[NoteRead]("note.read", _("opened a note"), reading=True)
SET_SEEDED = Verb[SetSeeded]("set.seeded", _("began from a model's spans"))
PATIENT_ERASED = Verb[PatientErased]("patient.erased", _("erased a patient's notes"))
NOTE_DELETED = Verb[Erasure]("note.deleted", _("deleted a note"))
FILE_DOWNLOADED = Verb[FileDownloaded]("file.downloaded", _("downloaded a file"), reading=True)
ARCHIVE_WRITTEN = Verb[ArchiveWritten]("archive.written", _("exported the whole project as an archive"), reading=True)


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


TOKEN_CREATED = Verb[TokenEvent]("token.created", _("created an API token"), reading=True)
TOKEN_REVOKED = Verb[TokenEvent]("token.revoked", _("revoked an API token"))
