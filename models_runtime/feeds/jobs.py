"""The job of a feed: each step takes up what earlier ones have left, and can be repeated."""

from collections.abc import Callable
from typing import Any

from annotations.core.services import Canceled, ErasedMeanwhile, LimitReached, ProjectArchived, ServiceError
from annotations.jobs.runner import Claim
from models_runtime.feeds.selectors import feeds_rows
from models_runtime.feeds.services.delivering import clear, deliver, sweep
from models_runtime.feeds.services.feeds import check_owner
from models_runtime.feeds.services.releasing import publish_due, read, release_ready, route
from models_runtime.feeds.services.taking import Intake
from models_runtime.models import Feed


class FeedPaused(Exception):
    """A person has paused the feed."""


def run(claim: Claim) -> dict[str, Any]:
    """Do everything that can be done for a feed now. A step that fails does not keep the others from their work."""
    feed = feeds_rows().get(pk=claim.params["feed_id"])
    counts = {"feed": feed.name, "taken": 0, "delivered": 0}

    def check() -> None:
        claim.check()
        if Feed.objects.filter(pk=feed.pk, paused_at__isnull=False).exists():
            raise FeedPaused

    def take() -> None:
        intake = Intake(feed, claim, check)
        try:
            intake.run()
        finally:
            counts["taken"] = intake.taken

    def write() -> None:
        counts["delivered"] = deliver(feed, claim)

    def tidy() -> None:
        sweep(feed)
        clear(feed)

    steps: list[Callable[[], None]] = [
        tidy,
        lambda: check_owner(feed),
        take,
        lambda: read(feed, claim),
        lambda: route(feed, claim),
        write,
        lambda: release_ready(feed, claim),
        lambda: publish_due(feed, claim),
    ]
    problems = []
    try:
        for step in steps:
            check()
            problem = _problem(step)
            if problem:
                problems.append(problem)
                if step is steps[1]:
                    break
    except FeedPaused:
        return counts
    with claim.fenced():
        Feed.objects.filter(pk=feed.pk).update(problem=problems[0][:500] if problems else "")
    return counts


def _problem(step: Callable[[], None]) -> str:
    """Do a step. Return why it could not be done, as a sentence; empty if it was."""
    try:
        step()
    except (ProjectArchived, Canceled):
        raise
    except ErasedMeanwhile:
        return ""  # The next time.
    except (ServiceError, LimitReached) as error:
        return str(error)
    return ""
