"""Add the ready notes of a feed to its standing release, and close each part at the end of its period."""

from collections.abc import Mapping
from typing import Final

from django.utils import timezone

from annotations.core.authors import gold_author
from annotations.core.locks import ErasedMeanwhile
from annotations.jobs.runner import Claim
from annotations.jobs.services.queue import LIVE
from annotations.models import AuthorKind, Release, ReleasedNote, ReleasedNoteState, ReleaseState
from annotations.release.services.exporting import withdraw
from annotations.release.services.policies import policy_named
from annotations.release.services.sources import first_of
from annotations.release.services.standing import add_notes, publish_part, start_part, take_out_held
from annotations.release.services.starting import outdated, prepare_again
from models_runtime.feeds.rules import folders
from models_runtime.feeds.rules.naming import folder_name
from models_runtime.feeds.selectors import begin_now, due_deltas, open_delta, opened_folder, undelivered
from models_runtime.models import Feed, FeedDelta, FeedNote, FeedNoteState

AT_ONCE: Final = 500


def release_ready(feed: Feed, claim: Claim) -> None:
    """Close the part of an earlier period, and add what is ready to the present one.

    A part whose notes are being prepared is left alone. Raises ServiceError as `start_release` and `sign`.
    """
    delta = open_delta(feed)
    spec = _set_spec(feed)
    policy = policy_named(feed.project, feed.policy.slug, actor=feed.created_by)
    if policy.pk != feed.policy_id:
        with claim.fenced():
            Feed.objects.filter(pk=feed.pk).update(policy=policy)
        feed.policy = policy
    if delta is not None:
        release = delta.release
        if release.state == ReleaseState.PREPARING or (release.job and release.job.state in LIVE):
            return
        other = (delta.begins, release.set_spec, release.policy_id) != (begin_now(feed), spec, policy.pk)
        if other or release.state != ReleaseState.PREPARED:
            if not _close(feed, delta, claim):
                return
            delta = None
    ready = FeedNote.objects.filter(feed=feed, state=FeedNoteState.READY).order_by("document__patient_id", "pk")
    notes = list(ready.values_list("document_id", flat=True)[:AT_ONCE])
    if not notes:
        return
    with claim.fenced():
        if delta is None:
            _start(feed, spec, notes)
        else:
            add_notes(release=delta.release, notes=notes, actor=feed.created_by)
        FeedNote.objects.filter(feed=feed, document__in=notes, state=FeedNoteState.READY).update(
            state=FeedNoteState.GATE, since=timezone.now()
        )


def _set_spec(feed: Feed) -> str:
    """The annotations that the feed releases: gold, and where not all is reviewed, else what its runs suggest."""
    gold_author(feed.project)
    if feed.read_percent == 100:
        return "gold"
    runs = FeedNote.objects.filter(feed=feed, run__author__kind=AuthorKind.RUN).order_by()
    names = sorted(set(runs.values_list("run__author__name", flat=True).distinct()))
    return first_of(["gold", *(f"run:{name}" for name in names)])


def _start(feed: Feed, spec: str, notes: list[int]) -> None:
    release = start_part(
        project=feed.project, set_spec=spec, policy=feed.policy, notes=notes, first=feed.continues,
        actor=feed.created_by,
    )  # fmt: skip
    if feed.continues is None:
        feed.continues = release
        feed.save(update_fields=["continues"])
    begins = begin_now(feed)
    earlier = FeedDelta.objects.filter(feed=feed, begins=begins).count()
    FeedDelta.objects.create(feed=feed, release=release, begins=begins, folder=folder_name(begins, earlier))


def _close(feed: Feed, delta: FeedDelta, claim: Claim) -> bool:
    """Close a part: notes with open findings go to the next one, the others get a certificate. False: not yet."""
    release = delta.release
    if release.state == ReleaseState.PREPARED:
        with claim.fenced():
            held = take_out_held(release=release)
            FeedNote.objects.filter(feed=feed, document__in=held).update(
                state=FeedNoteState.READY, since=timezone.now()
            )
        if outdated(release):
            prepare_again(release=release, actor=feed.created_by)
            return False
        if undelivered(delta):
            return False
    if release.state != ReleaseState.WITHDRAWN and not _publish(feed, delta, claim):
        return False
    with claim.fenced():
        FeedDelta.objects.filter(pk=delta.pk).update(closed=True)
    return True


def publish_due(feed: Feed, claim: Claim) -> None:
    """Sign the closed parts again from which notes were erased, and write the certificates to their folders."""
    for delta in due_deltas(feed):
        _publish(feed, delta, claim)


def _publish(feed: Feed, delta: FeedDelta, claim: Claim) -> bool:
    """Sign a part and write its certificate and list of files. A part without notes is withdrawn."""
    release = Release.objects.select_related("project", "policy", "gold_version").get(pk=delta.release_id)
    if not ReleasedNote.objects.filter(release=release, state=ReleasedNoteState.DONE).exists():
        withdraw(release=release, actor=feed.created_by)
        return True

    def store(number: int, files: Mapping[str, bytes]) -> None:
        claim.fence()
        with opened_folder(feed.target) as target, folders.subfolder(target, delta.folder) as folder:
            for name, content in files.items():
                folders.write(folder, name, content)
            folders.sync(folder)
        FeedDelta.objects.filter(pk=delta.pk).update(certified=number)

    try:
        publish_part(release=release, actor=feed.created_by, store=store)
    except ErasedMeanwhile:
        return False
    return True
