"""What pages, routes, commands and the relay read about feeds."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import Count, Exists, F, Min, OuterRef, Q, QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.access import Access
from annotations.core.authors import gold_sets
from annotations.core.services import ServiceError
from annotations.jobs.services.queue import LIVE
from annotations.models import JobState, Project, RecordSchemaState, Release, ReleasedNote, ReleaseState
from annotations.models import ReleasedNoteState as NoteState
from models_runtime.feeds.rules import folders
from models_runtime.feeds.rules.naming import period_begin
from models_runtime.models import Feed, FeedDelta, FeedFile, FeedNote, FeedNoteState, RunItem, RunItemState, Tombstone
from models_runtime.models import FeedFileState as FileState


@dataclass(frozen=True)
class FeedStep:
    """How many files or notes wait at a step of a feed, and since when the first of them waits."""

    step: str
    title: str
    count: int
    since: datetime | None


@dataclass(frozen=True)
class FeedStatus:
    """A feed: where its files wait and since when, and what it delivered. `problem` says what stops it now.

    `failed`: notes that the run could not read. `leaks`: withdrawn files in which a later note showed a leak.
    `releases`: the numbers of its parts, the newest first.
    """

    id: int
    name: str
    source: str
    target: str
    run: str
    policy: str
    read_percent: int
    period: str
    paused: bool
    problem: str
    steps: list[FeedStep]
    failed: int
    released: int
    quarantined: int
    withdrawn: int
    leaks: int
    releases: list[int]
    certificates: int


STEPS = (
    FileState.TAKEN, FeedNoteState.IMPORTED, FeedNoteState.READ, FeedNoteState.READY, FeedNoteState.GATE,
    FeedNoteState.DELIVERING, FeedNoteState.REFUSED, FileState.QUARANTINED, FeedNoteState.RELEASED,
)  # fmt: skip


def feeds_rows() -> QuerySet[Feed]:
    """Feeds with what their pages and their job need."""
    return Feed.objects.select_related("run__author", "run__job", "policy", "job", "created_by", "project", "continues")


def feeds_of(project: Project) -> QuerySet[Feed]:
    return feeds_rows().filter(project=project)


def feed_of(access: Access, pk: int) -> Feed:
    """A feed of the project. Raises Http404."""
    found: Feed = get_object_or_404(feeds_of(access.project), pk=pk)
    return found


def status_of(feed: Feed) -> FeedStatus:
    """Count what waits where. The number of queries does not depend on the number of files."""
    counted: dict[str, tuple[int, datetime | None]] = {}
    for rows in (FeedFile.objects.filter(feed=feed), FeedNote.objects.filter(feed=feed)):
        found = rows.order_by().values_list("state").annotate(number=Count("pk"), first=Min("since"))
        for state, number, first in found:
            # Imported files are counted by their notes.
            if rows.model is FeedNote or state != FileState.IMPORTED:
                counted[state] = (number, first)
    deltas = list(feed.deltas.order_by("-pk").values_list("release__number", "certified"))
    return FeedStatus(
        id=feed.pk,
        name=feed.name,
        source=feed.source,
        target=feed.target,
        run=feed.run.author.name if feed.run else feed.backend,
        policy=f"{feed.policy.slug}:{feed.policy.version}",
        read_percent=feed.read_percent,
        period=feed.period,
        paused=feed.paused_at is not None,
        problem=feed.problem or (feed.job.error if feed.job and feed.job.state == JobState.FAILED else ""),
        steps=[FeedStep(str(one), str(one.label), *counted.get(one, (0, None))) for one in STEPS],
        failed=_failed(feed).count(),
        released=counted.get(FeedNoteState.RELEASED, (0, None))[0],
        quarantined=counted.get(FileState.QUARANTINED, (0, None))[0],
        withdrawn=feed.tombstones.count(),
        leaks=feed.tombstones.filter(reason=Tombstone.Reason.LEAK).count(),
        releases=[number for number, _certified in deltas],
        certificates=sum(certified > 0 for _number, certified in deltas),
    )


def _failed(feed: Feed) -> QuerySet[FeedNote]:
    items = RunItem.objects.filter(run=feed.run_id, document=OuterRef("document"), state=RunItemState.FAILED)
    return FeedNote.objects.filter(Exists(items), feed=feed, state=FeedNoteState.IMPORTED)


def quarantined(feed: Feed) -> QuerySet[FeedFile]:
    """The files in quarantine, the newest first."""
    return FeedFile.objects.filter(feed=feed, state=FileState.QUARANTINED).order_by("-since", "-pk")


def read_notes(feed: Feed) -> QuerySet[FeedNote]:
    """The notes that wait for the run and have been read by it."""
    items = RunItem.objects.filter(run=feed.run_id, document=OuterRef("document"), state=RunItemState.DONE)
    return FeedNote.objects.filter(Exists(items), feed=feed, state=FeedNoteState.IMPORTED)


def reviewed_notes(feed: Feed) -> QuerySet[FeedNote]:
    """The notes that wait for review and are gold now."""
    gold = gold_sets(feed.project).filter(document=OuterRef("document"))
    return FeedNote.objects.filter(Exists(gold), feed=feed, state=FeedNoteState.READ)


def unread_notes(feed: Feed) -> QuerySet[FeedNote]:
    """The notes that the run has yet to read, without those at which it failed."""
    return FeedNote.objects.filter(feed=feed, state=FeedNoteState.IMPORTED).exclude(pk__in=_failed(feed).values("pk"))


def outdated_records(feed: Feed) -> QuerySet[FeedNote]:
    """The records that wait for a run, a review or a part, and whose version of the schema was replaced."""
    states = (FeedNoteState.IMPORTED, FeedNoteState.READ, FeedNoteState.READY)
    replaced = RecordSchemaState.RETIRED
    return FeedNote.objects.filter(feed=feed, state__in=states, document__record__schema__state=replaced)


def open_delta(feed: Feed, *, records: bool) -> FeedDelta | None:
    """The part to which notes, or those of records, are added; None where the last one was closed."""
    rows = FeedDelta.objects.filter(feed=feed, closed=False, records=records).select_related("release__job")
    return rows.order_by("pk").first()


def withdrawn_deltas(feed: Feed) -> QuerySet[FeedDelta]:
    """The parts that were withdrawn, and not yet taken back from the outgoing folder."""
    there = Q(closed=False) | Q(certified__gt=0)
    return FeedDelta.objects.filter(there, feed=feed, release__state=ReleaseState.WITHDRAWN)


def at_work(release: Release) -> bool:
    """Whether a job prepares the notes of a part now."""
    return release.state == ReleaseState.PREPARING or bool(release.job and release.job.state in LIVE)


def parts_of(feed: Feed) -> QuerySet[FeedDelta]:
    """The parts, the newest first; `has_findings`: a note of this part's sort is at the leak gate."""
    at_gate = FeedNote.objects.filter(feed=feed, state=FeedNoteState.GATE, record=OuterRef("records"))
    return feed.deltas.select_related("release").annotate(has_findings=Exists(at_gate)).order_by("-pk")


def begin_now(feed: Feed) -> Any:
    """The first day of the present period, in the time zone of the instance."""
    return period_begin(feed.period, timezone.localdate())


def due_deltas(feed: Feed) -> QuerySet[FeedDelta]:
    """The closed parts from which notes were erased since they were signed, or that have a certificate by hand."""
    erased = Q(release__erasures__at__gte=F("release__signed_at"))
    newer = Q(certified__lt=F("release__certificates__number"))
    rows = FeedDelta.objects.filter(erased | newer, feed=feed, closed=True, release__state=ReleaseState.SIGNED)
    return rows.select_related("release").order_by("pk").distinct()


# The folders, all of which lie in the one that the operator allows.


def feed_root() -> Path:
    """The folder that the operator allows for feeds. Raises ServiceError `root`."""
    if not settings.FEED_ROOT:
        message = _("This instance allows no folders for feeds. Its operator can set DEIDREVIEW_FEED_ROOT.")
        raise ServiceError(message, code="root")
    return Path(settings.FEED_ROOT).resolve()


@contextmanager
def opened_folder(*parts: str) -> Iterator[int]:
    """The descriptor of a folder of a feed, whose path is relative to the root.

    Raises ServiceError `folder` or `full`, also for an OSError of the block. Its message quotes no path, since the name
    of a file can name a patient.
    """
    try:
        with folders.opened(feed_root(), *parts) as folder:
            yield folder
    except OSError as error:
        if error.errno == errno.ENOSPC:
            message = _("The disk of a folder of this feed is full. Make room there.")
            raise ServiceError(message, code="full") from error
        message = _("A folder of this feed can't be used: %(reason)s. Check that it exists, and its permissions.")
        raise ServiceError(message % {"reason": error.strerror or type(error).__name__}, code="folder") from error


def has_work(feed: Feed) -> bool:
    """Whether the feed's job has something to do. This looks into the folder and at a few rows."""
    return _has_rows(feed) or _has_files(feed)


def _has_files(feed: Feed) -> bool:
    try:
        with opened_folder(feed.source) as folder:
            return any(entry.settled for entry in folders.entries(folder))
    except ServiceError:
        return True  # The job says what is wrong.


def _has_rows(feed: Feed) -> bool:
    queries: list[QuerySet[Any]] = [
        feed.tombstones.filter(cleared_at=None),
        FeedFile.objects.filter(feed=feed, state=FileState.WITHDRAWN, moved=True),
        outdated_records(feed),
        read_notes(feed),
        reviewed_notes(feed),
        due_deltas(feed),
        withdrawn_deltas(feed),
        FeedNote.objects.filter(feed=feed, state=FeedNoteState.DELIVERING),
    ]
    if not (feed.run and feed.run.job and feed.run.job.state in LIVE):
        queries.append(unread_notes(feed))
    return (
        any(rows.exists() for rows in queries) or _has_release(feed, records=False) or _has_release(feed, records=True)
    )


def _has_release(feed: Feed, *, records: bool) -> bool:
    """Whether something is ready for a part, or a part is ready for something."""
    delta = open_delta(feed, records=records)
    ready = FeedNote.objects.filter(feed=feed, state=FeedNoteState.READY, record=records).exists()
    if delta is None or at_work(delta.release):
        return ready and delta is None
    changed = delta.begins != begin_now(feed) or delta.release.state != ReleaseState.PREPARED
    return ready or changed or undelivered(delta)


def undelivered(delta: FeedDelta) -> bool:
    """Whether the outgoing folder lacks a note of a part, or has one otherwise than the part has it now."""
    rows = ReleasedNote.objects.filter(release=delta.release_id)
    there = FeedNote.objects.filter(feed=delta.feed_id, document=OuterRef("document"))
    same = there.filter(state=FeedNoteState.RELEASED, sha256=OuterRef("sha256"))
    missing, held = rows.filter(~Exists(same), state=NoteState.DONE), rows.filter(state=NoteState.HELD)
    return missing.exists() or held.filter(Exists(there.exclude(path=""))).exists()
