"""Add, pause and continue feeds, and start their job."""

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import PurePosixPath
from typing import Final

from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.access import Can, enter
from annotations.core.services import ServiceError, check_choice
from annotations.jobs.services.queue import LIVE, continue_with_more, start_for
from annotations.models import Author, AuthorKind, Job, JobState, Project, User
from annotations.release.services.policies import parsed_policy, policy_named
from models_runtime.feeds.events import FEED_ADDED, FEED_CONTINUED, FEED_PAUSED, FEED_RUN_CHOSEN, FeedChanged
from models_runtime.feeds.selectors import feed_root, has_work
from models_runtime.models import Feed, FeedPeriod, Run
from models_runtime.runs.services.backends import chosen

KIND: Final = "feed"
LOOK_EVERY: Final = timedelta(seconds=15)
"""How often the relay looks whether a feed has something to do; ten times as seldom while a problem stops it."""
LONGEST: Final = 40
_NAME: Final = re.compile(rf"(?=.{{1,{LONGEST}}}\Z)[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True)
class FeedOrder:
    """A feed as a person asks for it. `run`: a run of the project, a backend or a trained model, by its name.

    `read_percent`: how many of 100 notes people review before they are released. `period`: of one certificate.
    """

    name: str
    source: str
    target: str
    run: str
    policy: str
    read_percent: int = 100
    period: str = FeedPeriod.DAY


def add_feed(*, project: Project, order: FeedOrder, actor: User | None) -> Feed:
    """Add a feed. It works with the rights of `actor`, who signs its certificates; None: the operator.

    Raises ServiceError: `name`, `exists`, `in` and `out` for folders, `root`, `run`, `policy`, `percent`, `period`.
    """
    name = _checked_name(order.name)
    check_choice(order.period, FeedPeriod.values, _("There is no period “%(name)s”. Choose one of: %(choices)s."),
                 code="period")  # fmt: skip
    if not 0 <= order.read_percent <= 100:
        raise ServiceError(_("The share of notes to review must be between 0 and 100 percent."), code="percent")
    source, target = _checked_folder(order.source, code="in"), _checked_folder(order.target, code="out")
    if _within(source, target) or _within(target, source):
        message = _("One folder lies in the other one. Choose an outgoing folder outside of the incoming one.")
        raise ServiceError(message, code="out")
    try:
        with transaction.atomic():
            Project.objects.select_for_update(no_key=True).get(pk=project.pk)
            for path in Feed.objects.values_list("source", "target"):
                if any(_within(own, other) or _within(other, own) for own in (source, target) for other in path):
                    message = _("Another feed uses one of these folders, or a folder around or in it. Choose others.")
                    raise ServiceError(message, code="in")
            run, backend = _run_of(project, order.run)
            policy = policy_named(project, *parsed_policy(order.policy), actor=actor)
            feed = Feed.objects.create(
                project=project, name=name, source=source, target=target, run=run, backend=backend, policy=policy,
                read_percent=order.read_percent, period=order.period, created_by=actor,
            )  # fmt: skip
            FEED_ADDED.record(
                actor=actor, project_id=project.pk,
                data={"feed": feed.pk, "policy": policy.pk, "read_percent": feed.read_percent, "period": feed.period},
            )  # fmt: skip
    except IntegrityError as error:
        message = _("There is a feed named “%(name)s” already, or one with these folders. Choose another name.")
        raise ServiceError(message % {"name": name}, code="exists") from error
    return feed


def _checked_folder(given: str, *, code: str) -> str:
    """A folder below the root, relative to it. Raises ServiceError `root` or `code`."""
    root = feed_root()
    # A path from a form can hold what no file system takes.
    if "\0" in given or not given.strip():
        raise ServiceError(_("Enter the path of a folder."), code=code)
    found = (root / given.strip()).resolve()
    if found == root or not found.is_relative_to(root):
        message = _("“%(path)s” is not inside the folder that this instance allows for feeds. Choose a folder there.")
        raise ServiceError(message % {"path": given.strip()[:200]}, code=code)
    if not found.is_dir():
        message = _("There is no folder “%(path)s”. Make it, then add the feed.")
        raise ServiceError(message % {"path": given.strip()[:200]}, code=code)
    return found.relative_to(root).as_posix()


def _checked_name(given: str) -> str:
    if not _NAME.fullmatch(given.strip()):
        message = _("A feed's name has at most %(most)d characters: a-z, 0-9, and hyphens between them.")
        raise ServiceError(message % {"most": LONGEST}, code="name")
    return given.strip()


def _within(inner: str, outer: str) -> bool:
    return PurePosixPath(inner).is_relative_to(outer)


def _run_of(project: Project, name: str) -> tuple[Run | None, str]:
    """The run of this name, or the backend or model of which the feed makes its own run with the first notes."""
    run = Run.objects.filter(project=project, author__name=name, author__kind=AuthorKind.RUN).first()
    if run is not None:
        return run, ""
    try:
        chosen(project, name)
    except ServiceError as error:
        runs = Author.objects.filter(run__isnull=False, project=project, kind=AuthorKind.RUN)
        known = ", ".join(runs.order_by("name").values_list("name", flat=True)[:20]) or _("none")
        message = _("There is no run “%(name)s”. Runs of the project: %(known)s. %(error)s")
        raise ServiceError(message % {"name": name[:80], "known": known, "error": error}, code="run") from error
    return None, name


def choose_run(*, feed: Feed, run: str, actor: User | None) -> Feed:
    """Let another run read the notes that come from now on. Raises ServiceError `run`."""
    with transaction.atomic():
        locked = Feed.objects.select_for_update(of=("self",)).get(pk=feed.pk)
        locked.run, locked.backend = _run_of(locked.project, run)
        locked.problem = ""
        locked.save(update_fields=["run", "backend", "problem"])
        data: FeedChanged = {"feed": locked.pk, "run": locked.run.author_id if locked.run else None}
        FEED_RUN_CHOSEN.record(actor=actor, project_id=locked.project_id, data=data)
    return locked


def pause_feed(*, feed: Feed, actor: User | None) -> Feed:
    """Pause a feed: its job stops after the file at which it works. Pausing twice does no harm."""
    with transaction.atomic():
        if Feed.objects.filter(pk=feed.pk, paused_at=None).update(paused_at=timezone.now(), paused_by=actor):
            FEED_PAUSED.record(actor=actor, project_id=feed.project_id, data={"feed": feed.pk})
    feed.refresh_from_db()
    return feed


def continue_feed(*, feed: Feed, actor: User | None) -> Feed:
    """Continue a paused feed, and start its job. From now on it works with the rights of `actor`, who signs."""
    with transaction.atomic():
        rows = Feed.objects.filter(pk=feed.pk, paused_at__isnull=False)
        if rows.update(paused_at=None, paused_by=None, problem="", looked_at=None, created_by=actor):
            FEED_CONTINUED.record(actor=actor, project_id=feed.project_id, data={"feed": feed.pk})
            start_work(feed)
    feed.refresh_from_db()
    return feed


def start_work(feed: Feed) -> Job:
    """Start the job of a feed, or return it where it is at work. A feed has one job, so one worker at a time.

    Raises ServiceError `paused`, and ProjectArchived.
    """
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=feed.project_id)
        locked = Feed.objects.select_for_update(of=("self",)).select_related("project", "job").get(pk=feed.pk)
        if locked.paused_at is not None:
            raise ServiceError(_("This feed is paused. Continue it first."), code="paused")
        if locked.job is not None:
            return continue_with_more(locked.job)
        return start_for(locked, KIND, str(locked.pk), None, {"feed_id": locked.pk})


def look_at_feeds() -> None:
    """Start the jobs of the feeds that have something to do. The relay calls this function every second."""
    now = timezone.now()
    due = Q(looked_at=None) | Q(looked_at__lt=now - LOOK_EVERY, problem="") | Q(looked_at__lt=now - 10 * LOOK_EVERY)
    open_ones = Feed.objects.filter(due, paused_at=None, project__archived_at=None)
    failed = Q(job__state=JobState.FAILED, job__finished_at__gt=now - 10 * LOOK_EVERY)
    for feed in open_ones.exclude(job__state__in=LIVE).exclude(failed).select_related("project"):
        # Of two relays, one looks. A feed that is paused, or a project that is archived meanwhile, starts nothing.
        if Feed.objects.filter(due, pk=feed.pk).update(looked_at=now) and has_work(feed):
            with suppress(ServiceError):
                start_work(feed)


def check_owner(feed: Feed) -> None:
    """Raise ServiceError `owner` where the person with whose rights a feed works may not import and release now."""
    owner = feed.created_by
    try:
        if owner is not None and not owner.is_active:
            raise PermissionDenied
        if owner is not None:
            enter(owner, feed.project.slug, Can.MANAGE)
            enter(owner, feed.project.slug, Can.RELEASE)
    except (Http404, PermissionDenied) as error:
        message = _(
            "%(name)s, with whose rights this feed works, may no longer release text of this project. "
            "Pause the feed; then somebody who may release text can continue it."
        )
        raise ServiceError(message % {"name": owner.username if owner else ""}, code="owner") from error
