"""Bring the notes of a feed on their way: to its run, to people, and to a part of its standing release.

Each part is closed at the end of its period.
"""

import hashlib
import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.authors import gold_author
from annotations.core.services import ErasedMeanwhile, ServiceError
from annotations.jobs.runner import Claim
from annotations.models import AuthorKind, JobState, Record, RecordSchemaState, Release, ReleasedNote, ReleaseState
from annotations.models import ReleasedNoteState as NoteState
from annotations.records.selectors import AUTHOR
from annotations.release.services import standing
from annotations.release.services.certificates.signing import sign_files
from annotations.release.services.exporting import withdraw
from annotations.release.services.policies import policy_named
from annotations.release.services.sources import first_of, union_of
from annotations.release.services.starting import outdated, prepare_again
from models_runtime.feeds import selectors
from models_runtime.feeds.rules.naming import RECORDS_MANIFEST, folder_name, record_folder, record_path
from models_runtime.feeds.services.delivering import clear, move, store, take_back
from models_runtime.models import Feed, FeedDelta, FeedNote, FeedNoteState, Tombstone
from models_runtime.runs.services.backends import chosen
from models_runtime.runs.services.runs import free_name, read_more, started

AT_ONCE: Final = 500
AGAIN: Final = timedelta(minutes=10)
"""How long after a failed job its run is tried again, for example where a server was away."""


def read(feed: Feed, claim: Claim) -> None:
    """Give the run the notes that it has yet to read, and start its job. Raises ServiceError `run` where it failed."""
    unread = selectors.unread_notes(feed).order_by("pk")
    notes = list(unread.values_list("document_id", flat=True)[:AT_ONCE])
    if not notes:
        return
    if feed.run is None:
        choice = chosen(feed.project, feed.backend)
        name = free_name(feed.project, AuthorKind.RUN, feed.name)
        with claim.fenced():
            run = started(
                project=feed.project,
                choice=choice,
                actor=feed.created_by,
                name=name,
                params={},
                key=f"feed-{feed.pk}-{claim.token}",
                only=notes,
            )
            Feed.objects.filter(pk=feed.pk, run=None).update(run=run)
        feed.run = run
        return
    job = feed.run.job
    if job is not None and job.state in (JobState.FAILED, JobState.CANCELED):
        tried = job.finished_at is not None and job.finished_at > timezone.now() - AGAIN
        if tried or job.state == JobState.CANCELED:
            message = _("The run “%(run)s” stopped: %(state)s. %(error)s Retry it on its page, or choose another run.")
            about = {"run": feed.run.author.name, "state": job.get_state_display(), "error": job.error}
            raise ServiceError(message % about, code="run")
    with claim.fenced():
        read_more(run=feed.run, notes=notes)


def route(feed: Feed, claim: Claim) -> None:
    """Send notes that were read to people, or on to release, and those that people have finished on to release."""
    read_now = selectors.read_notes(feed)
    _move(claim, read_now.filter(reviewed=True), FeedNoteState.READ, run=feed.run)
    _move(claim, read_now.filter(reviewed=False), FeedNoteState.READY, run=feed.run)
    _move(claim, selectors.reviewed_notes(feed), FeedNoteState.READY)


def _move(claim: Claim, notes: QuerySet[FeedNote], state: FeedNoteState, **values: Any) -> None:
    ids = list(notes.values_list("pk", flat=True))
    for at in range(0, len(ids), AT_ONCE):
        with claim.fenced():
            move(FeedNote.objects.filter(pk__in=ids[at : at + AT_ONCE]), state, **values)


def release_ready(feed: Feed, claim: Claim) -> None:
    """Close the parts of an earlier period, and add what is ready to the present ones: notes, and those of records.

    A part whose notes are being prepared is left alone. Raises ServiceError as `start_release` and `sign`.
    """
    gold_author(feed.project)
    policy = policy_named(feed.project, feed.policy.slug, actor=feed.created_by)
    if policy.pk != feed.policy_id:
        with claim.fenced():
            Feed.objects.filter(pk=feed.pk).update(policy=policy)
        feed.policy = policy
    for records in (False, True):
        _release(feed, claim, records=records)


def _release(feed: Feed, claim: Claim, *, records: bool) -> None:
    delta = selectors.open_delta(feed, records=records)
    ready = FeedNote.objects.filter(feed=feed, state=FeedNoteState.READY, record=records)
    # Those of a replaced version of their schema are taken again first.
    ready = ready.exclude(document__record__schema__state=RecordSchemaState.RETIRED)
    if delta is None and not ready.exists():
        return
    spec = _set_spec(feed, records=records)
    if delta is not None:
        release = delta.release
        if selectors.at_work(release):
            return
        now = (selectors.begin_now(feed), spec, feed.policy_id)
        if (delta.begins, release.set_spec, release.policy_id) != now or release.state != ReleaseState.PREPARED:
            if not _close(feed, delta, claim):
                return
            delta = None
    notes = list(ready.order_by("document__patient_id", "pk").values_list("document_id", flat=True)[:AT_ONCE])
    if not notes:
        return
    notes += _withdraw_leaking(feed, spec, notes, claim, records=records)
    with claim.fenced():
        if delta is None:
            delta = _start(feed, spec, notes, records=records)
        else:
            standing.add_notes(release=delta.release, notes=notes, actor=feed.created_by)
        Record.objects.filter(document__in=notes).update(release=delta.release_id)
        move(FeedNote.objects.filter(feed=feed, document__in=notes, state=FeedNoteState.READY), FeedNoteState.GATE)


def _withdraw_leaking(feed: Feed, spec: str, notes: list[int], claim: Claim, *, records: bool) -> list[int]:
    """Withdraw delivered notes of signed parts in which the new notes show a leak.

    They go to the present part, where the leak gate holds them back until a person decides. Returns those of this part.
    """
    if feed.continues is None or not (rows := standing.exposed(first=feed.continues, spec=spec, notes=notes)):
        return []
    documents = [row.document_id for row in rows]
    found = FeedNote.objects.filter(feed=feed, document__in=documents)
    with claim.fenced():
        standing.take_leaking(rows)
        Record.objects.filter(document__in=documents).update(release=None)
        take_back(feed, claim, found, Tombstone.Reason.LEAK, FeedNoteState.READY)
    clear(feed)
    more = found.filter(record=records).exclude(document__in=notes)
    return list(more.values_list("document_id", flat=True))


def _set_spec(feed: Feed, *, records: bool) -> str:
    """The annotations that the feed releases: gold, and where not all is reviewed, else what its runs suggest.

    Those of records also have the identifiers of fields, which their schemas name.
    """
    runs = FeedNote.objects.filter(feed=feed, run__author__kind=AuthorKind.RUN, record=records).order_by()
    names = sorted(set(runs.values_list("run__author__name", flat=True).distinct()))
    by_runs = [f"run:{name}" for name in names] if feed.read_percent < 100 else []
    return union_of(["gold", f"run:{AUTHOR}", *by_runs]) if records else first_of(["gold", *by_runs])


def _start(feed: Feed, spec: str, notes: list[int], *, records: bool) -> FeedDelta:
    release = standing.start_part(
        project=feed.project, set_spec=spec, policy=feed.policy, notes=notes, first=feed.continues,
        actor=feed.created_by,
    )  # fmt: skip
    if feed.continues is None:
        feed.continues = release
        feed.save(update_fields=["continues"])
    begins = selectors.begin_now(feed)
    earlier = FeedDelta.objects.filter(feed=feed, begins=begins, records=records).count()
    folder = folder_name(begins, earlier, records=records)
    return FeedDelta.objects.create(feed=feed, release=release, begins=begins, folder=folder, records=records)


def _close(feed: Feed, delta: FeedDelta, claim: Claim) -> bool:
    """Close a part: notes with open findings go to the next one, the others get a certificate. False: not yet."""
    release = delta.release
    if release.state == ReleaseState.PREPARED:
        with claim.fenced():
            held = standing.take_out(release=release)
            Record.objects.filter(document__in=held).update(release=None)
            move(FeedNote.objects.filter(feed=feed, document__in=held), FeedNoteState.READY)
        if outdated(release):
            prepare_again(release=release, actor=feed.created_by)
            return False
        if selectors.undelivered(delta):
            return False
    if release.state != ReleaseState.WITHDRAWN and not _publish(feed, delta, claim):
        return False
    with claim.fenced():
        FeedDelta.objects.filter(pk=delta.pk).update(closed=True)
    return True


def publish_due(feed: Feed, claim: Claim) -> None:
    """Sign the closed parts again from which notes were erased, and write the certificates to their folders."""
    for delta in selectors.due_deltas(feed):
        _publish(feed, delta, claim)


def _publish(feed: Feed, delta: FeedDelta, claim: Claim) -> bool:
    """Sign a part and write its certificate and list of files. A part without notes is withdrawn."""
    release = Release.objects.select_related("project", "policy", "gold_version").get(pk=delta.release_id)
    if not ReleasedNote.objects.filter(release=release, state=NoteState.DONE).exists():
        withdraw(release=release, actor=feed.created_by)
        return True

    def publish(number: int, files: Mapping[str, bytes]) -> None:
        claim.fence()
        store(feed, delta.folder, files)
        if delta.records:
            _sign_records(feed, delta, number)
        FeedDelta.objects.filter(pk=delta.pk).update(certified=number)

    try:
        standing.publish_part(release=release, actor=feed.created_by, store=publish)
    except ErasedMeanwhile:
        return False
    return True


def _sign_records(feed: Feed, delta: FeedDelta, certificate: int) -> None:
    """Write the signed list of the records of a part, whose notes the certificate covers.

    It is made of the rows, so that the recipient may have taken the records away.
    """
    there = FeedNote.objects.filter(feed=feed, document__record__release=delta.release_id, state=FeedNoteState.RELEASED)
    rows = there.order_by("path").values_list("path", "record_sha256")
    files = [{"name": record_path(path).rpartition("/")[2], "sha256": sha256} for path, sha256 in rows]
    about = {"release": delta.release.number, "certificate": certificate, "files": files}
    manifest = json.dumps(about, indent=1).encode() + b"\n"
    signature = sign_files(hashlib.sha256(manifest).digest())
    store(feed, record_folder(delta.folder), {RECORDS_MANIFEST: manifest, f"{RECORDS_MANIFEST}.sig": signature})
