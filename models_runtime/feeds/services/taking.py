"""Take files from the incoming folder, import them, and put aside what can't be imported.

Every step can be repeated. A file leaves the incoming folder after the transaction that imported it, and what the row
of its content says decides what happens to a file that lies there: so a process that is killed at any moment loses
nothing, and takes nothing twice.
"""

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.sealing import project_key
from annotations.core.services import ProjectArchived, ServiceError, hold
from annotations.exchange.services.import_plan import new_import
from annotations.exchange.services.importing import run_import, undo_import
from annotations.exchange.services.sources import MemorySource, parse_patients
from annotations.formats import DETECT
from annotations.formats.notes import NoteError, check_name
from annotations.jobs.runner import Claim
from annotations.models import Document, Import, ImportState, Record, ReleaseState
from annotations.ops.services.erasing import delete_note
from annotations.records.selectors import active_schemas
from annotations.records.services.taking import take_records
from annotations.text.names import printable
from models_runtime.feeds.rules import folders
from models_runtime.feeds.rules.folders import Entry
from models_runtime.feeds.rules.naming import PATIENTS, QUARANTINE, FileKind, kind_of, quarantined_name
from models_runtime.feeds.selectors import opened_folder, outdated_records
from models_runtime.feeds.services.delivering import move
from models_runtime.models import Feed, FeedFile, FeedFileState, FeedNote, FeedNoteState
from models_runtime.models import QuarantineReason as Reason

State = FeedFileState
MOST_PROBLEMS: Final = 100
"""How many refused records of a file are listed."""


class Intake:
    """Takes the files of a feed's incoming folder, one after the other."""

    def __init__(self, feed: Feed, claim: Claim, check: Callable[[], None]) -> None:
        """`check` is called before each file, and raises where the work must stop."""
        self._feed, self._claim, self._check = feed, claim, check
        self._key = project_key(feed.project_id)
        self._patients: Mapping[str, str] = {}
        self.taken = 0

    def run(self) -> None:
        """Take every file that has not changed for a while. Raises ServiceError for the folder as a whole."""
        self._renew_records()
        with opened_folder(self._feed.source) as folder:
            self._patients = _patients(folder)
            for entry in folders.entries(folder):
                self._check()
                if entry.settled:
                    self._take(entry, folder)

    def _take(self, entry: Entry, folder: int) -> None:
        read, reason = None, None
        if not entry.is_plain:
            reason = Reason.LINK if entry.is_link else Reason.SPECIAL
        else:
            try:
                read = folders.read(entry, settings.UPLOAD_MAX_BYTES)
            except OSError:
                reason = Reason.UNREADABLE
            if read is None and reason is None:
                return  # The file changed while it was read.
        # Without its content, a file is known by its name and time.
        told = read.sha256 if read else f"{os.fsencode(entry.path).hex()} {entry.found.st_mtime_ns}"
        row = self._row(entry, self._key.hexdigest("feed file", str(self._feed.pk), told))
        if row.state == State.TAKEN:
            self.taken += 1
            if reason or read is None or read.content is None:
                self._put_aside(row, reason or Reason.LARGE, "")
            else:
                self._import(row, entry.path, read.content)
        if row.state in (State.IMPORTED, State.WITHDRAWN):
            entry.remove()
        elif row.state == State.QUARANTINED:
            self._quarantine(row, entry, folder)

    def _row(self, entry: Entry, key: str) -> FeedFile:
        """The row of this content, made where there is none. A file that comes again from quarantine is tried again."""
        name = printable(os.fsencode(entry.path).decode("utf-8", "backslashreplace"))[-500:]
        about: dict[str, Any] = {
            "name": name, "kind": kind_of(name), "size": entry.found.st_size,
            "patient": self._patients.get(str(PurePosixPath(name).with_suffix("")), "")
            or self._patients.get(name, ""),
        }  # fmt: skip
        with self._claim.fenced():
            row, _made = FeedFile.objects.get_or_create(feed=self._feed, key=key, defaults=about)
            if row.state == State.QUARANTINED and row.moved:
                row.state, row.moved, row.reason, row.detail = State.TAKEN, False, "", ""
                row.problems = []
                row.since, row.name, row.patient = timezone.now(), name, about["patient"] or row.patient
                row.save()
        return row

    def _import(self, row: FeedFile, path: str, content: bytes) -> None:
        """Import a file whole, or put it aside. The last transaction of the import makes the rows of its notes."""
        if row.kind == FileKind.RECORDS and active_schemas(self._feed.project):
            self._take_records(row, path, content)
            return
        try:
            name = f"{self._feed.name}/{path}"
            if FeedFile.objects.filter(feed=self._feed, name=row.name, pk__lt=row.pk).exists():
                inner = PurePosixPath(name)
                name = str(inner.with_name(f"{inner.stem}~{row.pk}{inner.suffix}"))
            check_name(name)
            source = MemorySource([(name, content)])
            started = self._started(row, source)
            run_import(
                import_id=started.pk, progress=lambda _done, _total: self._claim.check(), fence=self._claim.fence,
                finish=lambda report: self._imported(row, started, report), source=source,
            )  # fmt: skip
            row.refresh_from_db()
        except ProjectArchived:
            raise
        except NoteError as error:
            one = error.problems[0]
            self._put_aside(row, Reason.NAME if one.code == "name" else Reason.REFUSED, one.message)
        except ServiceError as error:
            told = self._report(row)
            default = {"code": error.code, "message": str(error)}
            problem: Mapping[str, Any] = next(iter(told.get("refused", [])), default)
            reasons = {"duplicate": Reason.DUPLICATE, "empty": Reason.EMPTY}
            reason = reasons.get(problem["code"], Reason.REFUSED)
            detail = problem["message"]
            if problem["code"] == "unknown file":
                detail = _("A feed takes .txt, documents such as .pdf and .docx, annotations, and records in .json.")
            # The importer's sentence about equal texts names another note, perhaps of another patient.
            self._put_aside(row, reason, detail if reason == Reason.REFUSED else "")

    def _take_records(self, row: FeedFile, path: str, content: bytes) -> None:
        """Store the records of a file with their notes. Refused ones keep the file in quarantine; the others go on.

        A record is stored once, whatever is repeated.
        """
        # The library that reads Parquet loads numpy, and only files of records need it.
        from annotations.records.services.reading import read_records

        stored: dict[int, str] = {}
        refused: list[dict[str, str]] = []
        try:
            with tempfile.NamedTemporaryFile(suffix=PurePosixPath(path).suffix) as copy:
                copy.write(content)
                copy.flush()
                for one in take_records(
                    project=self._feed.project, records=read_records(Path(copy.name)), policy=self._feed.policy,
                    actor=self._feed.created_by, store_all=True,
                ):  # fmt: skip
                    self._claim.check()
                    if one.record is not None:
                        stored[one.record] = one.where
                    else:
                        refused.append({"where": one.where, "path": one.path, "reason": one.reason})
        except ProjectArchived:
            raise
        except ServiceError:
            self._put_aside(row, Reason.REFUSED, _("It is not readable as JSON, JSON Lines or Parquet."))
            return
        if not (stored or refused):
            self._put_aside(row, Reason.EMPTY, "")
            return
        with self._claim.fenced():
            hold(self._feed.project_id)
            refused += self._make_record_notes(row, stored)
            if refused:
                self._put_aside(row, Reason.RECORDS, "", problems=refused)
            else:
                move(FeedFile.objects.filter(pk=row.pk, state=State.TAKEN), State.IMPORTED)
        row.refresh_from_db()

    def _make_record_notes(self, row: FeedFile, stored: Mapping[int, str]) -> list[dict[str, str]]:
        """Make the rows of records' notes; those without free text need no run and no review.

        Returns the records that came another way before, which leave that way.
        """
        elsewhere: list[dict[str, str]] = []
        made: list[FeedNote] = []
        columns = ("pk", "document_id", "has_text", "release__state", "document__feed_note__feed")
        ids = sorted(stored)
        for at in range(0, len(ids), 500):
            rows = Record.objects.filter(pk__in=ids[at : at + 500]).order_by("pk")
            for pk, document, has_text, state, feed in rows.values_list(*columns):
                if feed == self._feed.pk:
                    continue
                if feed is not None or state not in (None, ReleaseState.WITHDRAWN):
                    reason = _("This record was already released, or another feed has taken it.")
                    elsewhere.append({"where": stored[pk], "path": "", "reason": reason})
                    continue
                made.append(
                    FeedNote(
                        file=row, feed=self._feed, document_id=document, record=True,
                        reviewed=has_text and self._is_reviewed(document),
                        state=FeedNoteState.IMPORTED if has_text else FeedNoteState.READY,
                    )
                )  # fmt: skip
        FeedNote.objects.bulk_create(made, batch_size=500)
        return elsewhere

    def _renew_records(self) -> None:
        """Take the records again that have not left and whose schema was replaced, under its active version.

        A record keeps its note if that stays the same. Else it gets another one, and waits for its review again; the
        old one is deleted. One that the active version refuses can't leave.
        """
        for note in outdated_records(self._feed).select_related("document__record__schema"):
            self._check()
            record = note.document.record
            (taken,) = take_records(
                project=self._feed.project, records=[("", record.record)], policy=self._feed.policy,
                actor=self._feed.created_by, data_type=record.schema.data_type, store_all=True,
            )  # fmt: skip
            if taken.record == record.pk:
                continue
            same = FeedNote.objects.filter(pk=note.pk)
            with self._claim.fenced():
                if taken.record is None:
                    move(same, FeedNoteState.REFUSED)
                    continue
                new = Record.objects.get(pk=taken.record)
                state = FeedNoteState.IMPORTED if new.has_text else FeedNoteState.READY
                move(same, state, document=new.document_id, run=None)
            delete_note(project=self._feed.project, note=note.document_id, actor=self._feed.created_by)

    @staticmethod
    def _report(row: FeedFile) -> Mapping[str, Any]:
        """The report of the import that failed, as far as it was stored."""
        failed = Import.objects.filter(pk=row.imported_by_id or 0).first()
        return failed.report if failed else {}

    def _started(self, row: FeedFile, source: MemorySource) -> Import:
        """The import of this file, which an earlier attempt may have begun."""
        if row.imported_by is not None and row.imported_by.state in (ImportState.STAGED, ImportState.RUNNING):
            return row.imported_by
        planned = new_import(
            project=self._feed.project, source=source, format=DETECT, actor=self._feed.created_by, all_or_nothing=True
        )
        with self._claim.fenced():
            planned.save()
            row.imported_by = planned
            row.save(update_fields=["imported_by"])
        return planned

    def _imported(self, row: FeedFile, started: Import, report: Mapping[str, Any]) -> None:
        """Make the rows of the notes, in the last transaction of the import. Raises ServiceError if none has a text."""
        notes = Document.objects.filter(imported_by=started)
        if row.patient:
            notes.filter(patient_id="").update(patient_id=row.patient)
        made = [
            FeedNote(file=row, feed=self._feed, document_id=pk, reviewed=self._is_reviewed(pk))
            for pk in notes.order_by("pk").values_list("pk", flat=True)
        ]
        if len(made) == sum(one["code"] == "empty" for one in report["warnings"]):
            refused = next(iter(report["refused"]), {"message": _("The file has no note."), "code": "empty"})
            raise ServiceError(refused["message"], code=refused["code"])
        FeedNote.objects.bulk_create(made, batch_size=500)
        move(FeedFile.objects.filter(pk=row.pk, state=State.TAKEN), State.IMPORTED)

    def _is_reviewed(self, document: int) -> bool:
        """Whether people review a note: drawn by a keyed hash, so that nobody can choose which."""
        return self._key.number("feed read", str(document)) % 100 < self._feed.read_percent

    def _put_aside(
        self, row: FeedFile, reason: Reason, detail: str, problems: Sequence[Mapping[str, str]] = ()
    ) -> None:
        """Say that a file belongs into quarantine, and take back what its import wrote, in one transaction."""
        with self._claim.fenced():
            if row.imported_by_id is not None:
                undo_import(import_id=row.imported_by_id, state=ImportState.FAILED)
            row.state, row.since, row.reason, row.detail = State.QUARANTINED, timezone.now(), reason, detail[:300]
            row.imported_by, row.problems = None, [dict(one) for one in problems[:MOST_PROBLEMS]]
            row.save()

    def _quarantine(self, row: FeedFile, entry: Entry, folder: int) -> None:
        """Move a file into quarantine, beside a file with its reason."""
        name = quarantined_name(row.pk, entry.path)
        about: dict[str, Any] = {"name": row.name, "reason": row.reason, "detail": row.detail}
        about |= {"records": row.problems, "at": row.since.isoformat()}
        with folders.subfolder(folder, QUARANTINE) as quarantine:
            folders.write(quarantine, f"{name}.reason.json", json.dumps(about, ensure_ascii=False).encode() + b"\n")
            entry.move(quarantine, name)
        with self._claim.fenced():
            FeedFile.objects.filter(pk=row.pk, state=State.QUARANTINED).update(moved=True)


def _patients(folder: int) -> Mapping[str, str]:
    """The patient IDs by the names of files. Raises ServiceError `patients` for a table that can't be read."""
    try:
        descriptor = os.open(PATIENTS, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return {}
    with os.fdopen(descriptor, "rb") as file:
        return parse_patients(file.read(settings.UPLOAD_MAX_BYTES), PATIENTS)
