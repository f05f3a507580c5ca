"""Release stored records: an ordinary release of their notes, from which the records are put together again."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import transaction
from django.utils.translation import gettext as _

from annotations import models
from annotations.core.authors import gold_author_id
from annotations.core.bulk import among, batched
from annotations.core.services import ServiceError
from annotations.records.rules.plans import FieldChange, RecordError
from annotations.records.rules.reader import LEAK
from annotations.records.rules.validating import check_output
from annotations.records.selectors import AUTHOR, ready_records
from annotations.records.services.taking import RecordReader
from annotations.release.rules.leaks.needles import Needle
from annotations.release.rules.redaction.policy import Action
from annotations.release.rules.redaction.released import ReplacedPiece, span_to_released
from annotations.release.services.sources import union_of
from annotations.release.services.starting import start_release

BATCH: Final = 100
PREPARED: Final = (models.ReleaseState.PREPARED, models.ReleaseState.SIGNED)


@dataclass(frozen=True)
class ReleasedRecord:
    """A record of a release. `output` is None if it can't leave: its note is held back, or `path` and `reason` say why.

    `leak`: an identifier stands in a field that passes.
    """

    record: int
    where: str
    output: Any = None
    held: bool = False
    leak: bool = False
    path: str = ""
    reason: str = ""


def start_record_release(
    *,
    project: models.Project,
    policy: models.ReleasePolicy,
    records: Collection[int],
    actor: models.User | None,
    runs: Sequence[str] = (),
    unreviewed: bool = False,
    token: str = "",
) -> models.Release:
    """Start an ordinary release of the notes of these records, of which those that aren't ready are left out.

    Gold decides about free text and, where `ready_records` says so, the `runs`. Raises ServiceError `empty` if no
    record is ready, and as `start_release`.
    """
    with transaction.atomic():
        models.Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        ready = ready_records(project, runs=tuple(runs), unreviewed=unreviewed).filter(pk__in=among(records))
        notes = dict(ready.values_list("document", "pk"))
        if not notes:
            message = _("None of these records is ready. Review their notes first, or name a run that has read them.")
            raise ServiceError(message, code="empty")
        release = start_release(
            project=project,
            set_spec=union_of(_specs(project, list(notes), runs)),
            policy=policy,
            actor=actor,
            only=list(notes),
            token=token,
        )
        models.Record.objects.filter(pk__in=among(notes.values())).update(release=release)
    return release


def _specs(project: models.Project, notes: Sequence[int], runs: Sequence[str]) -> list[str]:
    """The annotation sets that these notes have: those of fields, gold, and the runs."""
    submitted = models.AnnotationSet.objects.filter(
        state=models.AnnotationSetState.SUBMITTED, document__in=among(notes)
    )
    gold = gold_author_id(project)
    specs = ["gold"] if gold and submitted.filter(author=gold).exists() else []
    authors = models.Author.objects.filter(project=project, kind=models.AuthorKind.RUN, name__in=runs)
    return [*specs, f"run:{AUTHOR}", *(f"run:{one.name}" for one in authors if submitted.filter(author=one).exists())]


def released_records(release: models.Release, *, only: Collection[int] | None = None) -> Iterator[ReleasedRecord]:
    """Put the records of a prepared release together, in the order of their rows. `only`: ids of rows."""
    reader = RecordReader(release.project, release.policy)
    rows = models.Record.objects.filter(release=release)
    ids = list((rows if only is None else rows.filter(pk__in=among(only))).values_list("pk", flat=True))
    for batch in batched(ids, BATCH):
        some = rows.filter(pk__in=batch).select_related("schema", "document").order_by("pk")
        notes = {note.document_id: note for note in models.ReleasedNote.objects.filter(
            release=release, document__in=[one.document_id for one in some])}  # fmt: skip
        for row in some:
            note = notes.get(row.document_id)
            if note is None or note.state != models.ReleasedNoteState.DONE:
                yield ReleasedRecord(row.pk, row.document.name, held=True)
            else:
                yield _assembled(reader, row, note)


def _assembled(reader: RecordReader, row: models.Record, note: models.ReleasedNote) -> ReleasedRecord:
    name = row.document.name
    try:
        read = reader.complete(row, texts_of(row, note))
        needles = [
            Needle(row.document.text[start:end], label, reader.kinds(label).kind)
            for start, end, _new_start, _new_end, label, action in note.pieces
            if action != Action.KEEP
        ]
        reader.gate.check([read], needles)
        if read.leak:
            return ReleasedRecord(row.pk, name, leak=True, path=read.leak, reason=_(LEAK))
        check_output(read.plan, read.done.output)
    except RecordError as error:
        return ReleasedRecord(row.pk, name, path=error.path, reason=error.reason)
    return ReleasedRecord(row.pk, name, output=read.wrapped())


def texts_of(row: models.Record, note: models.ReleasedNote) -> dict[str, str]:
    """What a released note says, by the JSON pointers of its record."""
    pieces = [ReplacedPiece._make((*piece[:5], Action(piece[5]))) for piece in note.pieces]
    return {pointer: note.text[slice(*span_to_released(pieces, start, end))] for start, end, pointer in row.sections}


def field_changes(row: models.Record, policy: models.ReleasePolicy) -> list[FieldChange]:
    """What becomes of each field of a stored record: as it was released, else under the policy, without its note."""
    release = row.release if row.release and row.release.state in PREPARED else None
    note = models.ReleasedNote.objects.filter(release=release, document=row.document_id).first() if release else None
    done = note is not None and note.state == models.ReleasedNoteState.DONE
    reader = RecordReader(row.project, release.policy if release else policy)
    texts = texts_of(row, note) if note is not None and done else {}
    read = reader.complete(row, texts, changes=True)
    waiting = set() if done else {pointer for _start, _end, pointer in row.sections}
    return [change._replace(after=None) if change.pointer in waiting else change for change in read.done.changes or ()]
