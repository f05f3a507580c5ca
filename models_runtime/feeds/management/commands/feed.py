import time
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand
from annotations.core.services import ServiceError
from annotations.jobs.services.queue import LIVE
from annotations.jobs.waiting import wait_for
from annotations.models import JobState, Project, User
from models_runtime.feeds.selectors import feeds_of, has_work, open_delta, status_of
from models_runtime.feeds.services import feeds
from models_runtime.models import Feed, FeedPeriod

ROUNDS = 200
"""The most rounds of one `--once`: a round takes up what the jobs of the one before have done."""


class Command(ProjectCommand):
    help = (
        "A standing pipeline: files of a folder are imported, read by a run, reviewed, and released to another folder."
    )
    needs = Can.RELEASE
    _worked = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("act", choices=["add", "run", "status", "pause", "continue"], help="What to do.")
        super().add_arguments(parser)

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", nargs="?", default="", help="Name of the feed. status: all feeds.")
        inside = "inside the folder of DEIDREVIEW_FEED_ROOT"
        parser.add_argument("--in", dest="source", metavar="DIR", help=f"add: the incoming folder, {inside}.")
        parser.add_argument("--out", dest="target", metavar="DIR", help=f"add: the outgoing folder, {inside}.")
        parser.add_argument("--run", metavar="NAME", help="add: a run, or a backend or trained model for a new run.")
        parser.add_argument("--policy", metavar="NAME", help="add: short name of a release policy.")
        about = "add: how many of 100 notes people review before they are released. Default: 100."
        parser.add_argument("--read-percent", type=int, default=100, metavar="N", help=about)
        about = "add: one certificate for each day or week. Default: day."
        parser.add_argument("--period", choices=FeedPeriod.values, default=FeedPeriod.DAY, help=about)
        parser.add_argument("--once", action="store_true", help="run: do everything that can be done now, then end.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        name = options["name"]
        if options["act"] == "status" and not name:
            return {"feeds": [asdict(status_of(one)) for one in feeds_of(project)]}
        if options["act"] == "add":
            feed = feeds.add_feed(project=project, order=self._order(options), actor=actor)
        else:
            feed = _feed(project, name)
        if options["act"] == "pause":
            feeds.pause_feed(feed=feed, actor=actor)
        elif options["act"] == "continue":
            feeds.continue_feed(feed=feed, actor=actor)
        elif options["act"] == "run":
            self._worked = True
            self._work(feed)
            while not options["once"]:
                time.sleep(feeds.LOOK_EVERY.total_seconds())
                self._work(feed)
        return asdict(status_of(_feed(project, feed.name)))

    def _order(self, options: dict[str, Any]) -> feeds.FeedOrder:
        words = {"--in": "source", "--out": "target", "--run": "run", "--policy": "policy"}
        missing = [word for word, name in words.items() if not options[name]]
        if missing or not options["name"]:
            message = f"Name the feed, and give {', '.join(missing) or 'its name'}. Nothing was added."
            raise ServiceError(message, code="feed")
        fields = ("name", "source", "target", "run", "policy", "read_percent", "period")
        return feeds.FeedOrder(**{name: options[name] for name in fields})

    def _work(self, feed: Feed) -> None:
        """Run the feed's job, and the jobs of its run and release, until nothing more can be done now."""
        for _round in range(ROUNDS):
            job = feeds.start_work(feed)
            wait_for(job, tell=None)
            if job.state == JobState.FAILED:
                raise ServiceError(f"The feed “{feed.name}” stopped. {job.error}", code="job")
            feed = _feed(feed.project, feed.name)
            deltas = filter(None, (open_delta(feed, records=records) for records in (False, True)))
            others = [feed.run.job if feed.run else None, *(delta.release.job for delta in deltas)]
            live = [one for one in others if one is not None and one.state in LIVE]
            for other in live:
                wait_for(other, tell=None)
            feed = _feed(feed.project, feed.name)
            if feed.problem or not has_work(feed):
                return

    def say(self, result: dict[str, Any]) -> str:
        return "\n\n".join(map(_lines, result.get("feeds", [result]))) or "There are no feeds."

    def failure(self, result: dict[str, Any]) -> str:
        return str(result["problem"]) if self._worked else ""


def _feed(project: Project, name: str) -> Feed:
    found = feeds_of(project).filter(name=name).first()
    if found is None:
        known = ", ".join(feeds_of(project).values_list("name", flat=True)) or "none"
        raise ServiceError(f"“{project.slug}” has no feed “{name}”. Feeds: {known}.", code="feed")
    return found


def _lines(status: dict[str, Any]) -> str:
    state = "paused" if status["paused"] else "at work"
    lines = [f"{status['name']} ({state}): {status['source']} to {status['target']}, run {status['run']}, "
             f"policy {status['policy']}."]  # fmt: skip
    for step in status["steps"]:
        if step["count"]:
            lines.append(f"{step['title']}: {step['count']}, since {step['since']:%Y-%m-%d %H:%M}.")
    if status["withdrawn"]:
        lines.append(f"Withdrawn files: {status['withdrawn']}.")
    if status["failed"]:
        lines.append(f"Notes at which the run failed: {status['failed']}.")
    if status["problem"]:
        lines.append(f"Problem: {status['problem']}")
    return "\n".join(lines)
