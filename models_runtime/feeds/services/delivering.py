"""Write the released notes of a feed to its outgoing folder, and withdraw what must no longer lie there.

A row says where a file will lie before it is written. So an erasure finds every file, also one whose writer was killed.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

from django.db import DatabaseError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from annotations.core.bulk import batched
from annotations.core.services import ServiceError, hold
from annotations.jobs.runner import Claim
from annotations.models import Project, Record, ReleasedNote, ReleasedNoteState, ReleaseState
from annotations.records.services.releasing import released_records
from annotations.release.services.standing import take_out
from models_runtime.feeds.events import FEED_DELIVERED, FEED_WITHDRAWN, FilesDelivered
from models_runtime.feeds.rules import folders
from models_runtime.feeds.rules.naming import QUARANTINE, RECORDS_MANIFEST, TOMBSTONES, record_folder, record_path
from models_runtime.feeds.selectors import at_work, opened_folder, withdrawn_deltas
from models_runtime.models import Feed, FeedDelta, FeedFile, FeedFileState, FeedNote, FeedNoteState, Tombstone

AT_ONCE: Final = 50
"""Files of one transaction."""
PUBLISHED: Final = ("release.json", "release.json.sig", "certificate.json", "certificate.pdf")
State = FeedNoteState


def move(rows: QuerySet[FeedNote] | QuerySet[FeedFile], state: str, **values: Any) -> None:
    """Give notes or files of a feed this state from now on."""
    rows.update(state=state, since=timezone.now(), **values)


def deliver(feed: Feed, claim: Claim) -> int:
    """Bring the outgoing folder up to date with the open part, and return how many files were written.

    Notes that are held back again, and those of withdrawn parts, are withdrawn. Raises ServiceError `folder` or `full`.
    """
    for delta in withdrawn_deltas(feed):
        there = FeedNote.objects.filter(feed=feed, document__in=_documents(delta)).exclude(state=State.WITHDRAWN)
        take_back(feed, claim, there, Tombstone.Reason.WITHDRAWN, State.WITHDRAWN)
        _unpublish(feed, delta, claim)
    written = 0
    for delta in FeedDelta.objects.filter(feed=feed, closed=False).select_related("release__job"):
        release = delta.release
        if release.state != ReleaseState.WITHDRAWN and not at_work(release):
            held = ReleasedNote.objects.filter(release=release, state=ReleasedNoteState.HELD).values("document")
            back = FeedNote.objects.filter(feed=feed, document__in=held).exclude(path="")
            take_back(feed, claim, back, Tombstone.Reason.HELD, State.GATE)
            clear(feed)
            written += _deliver(feed, delta, claim)
    clear(feed)
    return written


def _documents(delta: FeedDelta) -> list[int]:
    return list(ReleasedNote.objects.filter(release=delta.release_id).values_list("document_id", flat=True))


def _deliver(feed: Feed, delta: FeedDelta, claim: Claim) -> int:
    rows = ReleasedNote.objects.filter(release=delta.release_id, state=ReleasedNoteState.DONE)
    columns = rows.values_list("document", "name", "sha256")
    wanted = {pk: (f"{delta.folder}/{name}.txt", sha256) for pk, name, sha256 in columns}
    notes = FeedNote.objects.filter(feed=feed, document__in=list(wanted)).order_by("pk")
    late = [one for one in notes if one.state != State.RELEASED or (one.path, one.sha256) != wanted[one.document_id]]
    for some in batched(late, AT_ONCE):
        with claim.fenced():
            for note in some:
                path, _sha256 = wanted[note.document_id]
                if note.path and note.path != path:
                    entomb([note], Tombstone.Reason.HELD)
                # The hash stays that of the file that lies there, if there is one, until the new one is written.
                move(FeedNote.objects.filter(pk=note.pk), State.DELIVERING, path=path)
        _write(feed, delta, claim, [note.pk for note in some])
    return len(late)


def _write(feed: Feed, delta: FeedDelta, claim: Claim, ids: list[int]) -> None:
    """Write the files of these notes in one transaction, for which an erasure waits."""
    texts: dict[str, bytes] = {}
    outputs: dict[str, bytes] = {}
    with claim.fenced():
        hold(feed.project_id)
        notes = FeedNote.objects.select_for_update().filter(pk__in=ids, state=State.DELIVERING)
        path_of = dict(notes.values_list("document_id", "path"))
        rows = ReleasedNote.objects.filter(release=delta.release_id, state=ReleasedNoteState.DONE, document__in=path_of)
        records = _records(delta, list(path_of)) if delta.records else {}
        for document, text, sha256 in rows.values_list("document_id", "text", "sha256"):
            path, about = path_of[document], {"sha256": sha256, "record_sha256": ""}
            if delta.records:
                if document not in records:
                    _refuse(feed, delta, document)
                    continue
                outputs[record_path(path).rpartition("/")[2]] = records[document]
                about["record_sha256"] = hashlib.sha256(records[document]).hexdigest()
            texts[path.rpartition("/")[2]] = text.encode()
            done = FeedNote.objects.filter(feed=feed, document=document)
            move(done, State.RELEASED, delivered_at=timezone.now(), **about)
        store(feed, delta.folder, texts)
        if delta.records:
            store(feed, record_folder(delta.folder), outputs)
        data: FilesDelivered = {"feed": feed.pk, "release": delta.release.number, "delivered": len(rows)}
        FEED_DELIVERED.record(actor=feed.created_by, project_id=feed.project_id, data=data)


def store(feed: Feed, name: str, files: Mapping[str, bytes]) -> None:
    """Write files to a folder of the outgoing one, by their names. Raises ServiceError `folder` or `full`."""
    with opened_folder(feed.target) as target, folders.subfolder(target, name) as folder:
        for file, content in files.items():
            folders.write(folder, file, content)
        folders.sync(folder)


def _records(delta: FeedDelta, documents: list[int]) -> dict[int, bytes]:
    """The records of these notes, put together with what was released, as JSON. Those that can't leave are missing."""
    pks = dict(Record.objects.filter(document__in=documents).values_list("pk", "document_id"))
    found = released_records(delta.release, only=list(pks))
    outputs = {pks[one.record]: one.output for one in found if one.output is not None}
    return {pk: json.dumps(output, ensure_ascii=False).encode() + b"\n" for pk, output in outputs.items()}


def _refuse(feed: Feed, delta: FeedDelta, document: int) -> None:
    """Take a record out of its part for good, since an identifier stands in a field that passes."""
    take_out(release=delta.release, only=[document])
    Record.objects.filter(document=document).update(release=None)
    move(FeedNote.objects.filter(feed=feed, document=document), State.REFUSED, path="", sha256="")


def take_back(
    feed: Feed, claim: Claim, notes: Iterable[FeedNote], reason: Tombstone.Reason, state: FeedNoteState
) -> None:
    """Withdraw what was delivered of notes, which are in this state from now on."""
    found = list(notes)
    if not found:
        return
    with claim.fenced():
        entomb(found, reason)
        rows = FeedNote.objects.filter(pk__in=[note.pk for note in found])
        move(rows, state, path="", sha256="", delivered_at=None)
        data: FilesDelivered = {"feed": feed.pk, "withdrawn": len(found)}
        FEED_WITHDRAWN.record(actor=feed.created_by, project_id=feed.project_id, data=data)


def entomb(notes: Iterable[FeedNote], reason: Tombstone.Reason) -> None:
    """Make the rows by which the delivered files of these notes are removed, and listed as withdrawn."""
    made = []
    for note in notes:
        files = {note.path: note.sha256} if note.path else {}
        if files and note.record:
            files[record_path(note.path)] = note.record_sha256
        of_note = partial(Tombstone, feed_id=note.feed_id, delivered_at=note.delivered_at, reason=reason)
        made += [of_note(path=path, sha256=sha256) for path, sha256 in files.items()]
    Tombstone.objects.bulk_create(made)


def _unpublish(feed: Feed, delta: FeedDelta, claim: Claim) -> None:
    """Remove the certificate and the list of files of a withdrawn part."""
    with opened_folder(feed.target) as target:
        for name in PUBLISHED:
            folders.remove(target, f"{delta.folder}/{name}")
        for name in (RECORDS_MANIFEST, f"{RECORDS_MANIFEST}.sig") if delta.records else ():
            folders.remove(target, f"{record_folder(delta.folder)}/{name}")
    with claim.fenced():
        FeedDelta.objects.filter(pk=delta.pk).update(certified=0, closed=True)


def clear(feed: Feed) -> None:
    """Remove the withdrawn files, write the list of them, and empty the quarantine of erased patients.

    The list is made of the rows, so that writing it twice does no harm. Raises ServiceError `folder` or `full`.
    """
    rows = Tombstone.objects.filter(feed=feed)
    erased = FeedFile.objects.filter(feed=feed, state=FeedFileState.WITHDRAWN, moved=True)
    with transaction.atomic():
        # One writer of the list at a time.
        Feed.objects.select_for_update().get(pk=feed.pk)
        waiting = list(rows.filter(cleared_at=None))
        if waiting:
            there = set(FeedNote.objects.filter(feed=feed).exclude(path="").values_list("path", flat=True))
            there |= set(map(record_path, there))
            with opened_folder(feed.target) as target:
                for one in waiting:
                    if one.path not in there:
                        folders.remove(target, one.path)
                lines = [_line(one) for one in rows.order_by("pk")]
                folders.write(target, TOMBSTONES, "".join(lines).encode())
                folders.sync(target)
            rows.filter(pk__in=[one.pk for one in waiting]).update(cleared_at=timezone.now())
        ids = list(erased.values_list("pk", flat=True))
        if ids:
            with opened_folder(feed.source) as source, folders.subfolder(source, QUARANTINE) as quarantine:
                folders.remove_numbered(quarantine, ids)
            erased.filter(pk__in=ids).update(moved=False)


def _line(one: Tombstone) -> str:
    # With milliseconds, since a file can be withdrawn within a second of its delivery.
    delivered = one.delivered_at.isoformat(timespec="milliseconds") if one.delivered_at else None
    about = {
        "file": one.path, "sha256": one.sha256 or None, "delivered": delivered,
        "withdrawn": one.withdrawn_at.isoformat(timespec="milliseconds"), "reason": one.reason,
    }  # fmt: skip
    return json.dumps(about) + "\n"


def clear_soon(feeds: Iterable[int]) -> None:
    """Clear the folders of feeds after an erasure, where this process can reach them. Otherwise their job does it."""
    for feed in Feed.objects.filter(pk__in=list(feeds)):
        with suppress(ServiceError, DatabaseError):
            clear(feed)


def erase_from_feeds(*, project: Project, notes: Collection[int], patient: str, **about: object) -> None:
    """Withdraw what was delivered of erased notes, and forget the names of their files.

    A hook (annotations.core.hooks.patient_erased). The keyed hash of a file stays, so that the same file is not taken
    again: it is removed from the incoming folder. The patient's files in quarantine are removed, too.
    """
    found = list(FeedNote.objects.filter(feed__project=project, document__in=list(notes)))
    entomb(found, Tombstone.Reason.ERASED)
    own = Q(pk__in={note.file_id for note in found})
    if patient:
        own |= Q(patient=patient)
    files = FeedFile.objects.filter(own, feed__project=project)
    feeds = {note.feed_id for note in found} | set(files.values_list("feed_id", flat=True))
    move(files, FeedFileState.WITHDRAWN, name="", patient="", detail="", problems=[])
    if feeds:
        transaction.on_commit(partial(clear_soon, sorted(feeds)), robust=True)


def sweep(feed: Feed) -> None:
    """Remove what a killed process left half-written in the quarantine and in the folders that are written to now."""
    parts = FeedDelta.objects.filter(feed=feed, closed=False).values_list("folder", flat=True)
    inner = [name for part in parts for name in (part, record_folder(part))]
    for path, names in ((feed.source, [QUARANTINE]), (feed.target, ["", *inner])):
        with opened_folder(path) as folder:
            for name in names:
                with suppress(FileNotFoundError), folders.opened_inside(folder, name) as place:
                    folders.sweep(place)
