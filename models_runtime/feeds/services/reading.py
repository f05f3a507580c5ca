"""Let the run of a feed read its notes, and send them to review or to release."""

from datetime import timedelta
from typing import Any, Final

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.services import ServiceError
from annotations.jobs.runner import Claim
from annotations.models import AuthorKind, JobState
from models_runtime.feeds.selectors import read_notes, reviewed_notes, unread_notes
from models_runtime.models import Feed, FeedNote, FeedNoteState
from models_runtime.runs.services.backends import chosen
from models_runtime.runs.services.runs import free_name, read_more, started

AT_ONCE: Final = 500
AGAIN: Final = timedelta(minutes=10)
"""How long after a failed job its run is tried again, for example where a server was away."""


def read(feed: Feed, claim: Claim) -> None:
    """Give the run the notes that it has yet to read, and start its job. Raises ServiceError `run` where it failed."""
    notes = list(unread_notes(feed).order_by("pk").values_list("document_id", flat=True)[:AT_ONCE])
    if not notes:
        return
    if feed.run is None:
        choice = chosen(feed.project, feed.backend)
        name = free_name(feed.project, AuthorKind.RUN, feed.name)
        with claim.fenced():
            run = started(
                project=feed.project, choice=choice, actor=feed.created_by, name=name, params={},
                key=f"feed-{feed.pk}-{claim.token}", only=notes,
            )  # fmt: skip
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
    to_review = read_notes(feed).filter(reviewed=True)
    _move(feed, claim, to_review, state=FeedNoteState.READ, run=feed.run)
    _move(feed, claim, read_notes(feed).filter(reviewed=False), state=FeedNoteState.READY, run=feed.run)
    _move(feed, claim, reviewed_notes(feed), state=FeedNoteState.READY)


def _move(feed: Feed, claim: Claim, notes: QuerySet[FeedNote], **values: Any) -> None:
    ids = list(notes.values_list("pk", flat=True))
    for at in range(0, len(ids), AT_ONCE):
        with claim.fenced():
            FeedNote.objects.filter(pk__in=ids[at : at + AT_ONCE]).update(since=timezone.now(), **values)
