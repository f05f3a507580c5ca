"""Routes of feeds."""

from datetime import datetime
from typing import Annotated

from ninja import Field, Query

from annotations.core.access import Access, Can
from annotations.core.api.paging import Page, PageAnswer, Paging, paged_rows
from annotations.core.api.routes import Answer, ApiRequest, Body, ProjectRouter, named
from annotations.jobs.api import JobItem
from annotations.models import Job
from models_runtime.feeds import selectors
from models_runtime.feeds.forms import FIELDS
from models_runtime.feeds.selectors import FeedStatus
from models_runtime.feeds.services import feeds
from models_runtime.models import Feed, FeedPeriod

router = ProjectRouter(tags=["Feeds"])
PATH = "/projects/{slug:slug}/feeds"
ONE = f"{PATH}/{{int:feed}}"
OneFeed = Annotated[Feed, selectors.feed_of]


class NewFeed(Body):
    """A new feed. `source` and `target`: its incoming and outgoing folder on the server.

    `run`: a run of the project, a backend or a trained model, by its name. `read_percent` of the notes are reviewed by
    people before they are released. `period` of one certificate: day or week.
    """

    name: str = Field(max_length=80)
    source: str = Field(max_length=500)
    target: str = Field(max_length=500)
    run: str = Field(max_length=120)
    policy: str = Field(max_length=60)
    read_percent: int = Field(100, ge=0, le=100)
    period: FeedPeriod = FeedPeriod.DAY


class FeedRun(Body):
    """The run that reads the notes that come from now on."""

    run: str = Field(max_length=120)


class QuarantinedFile(Answer):
    """A file in quarantine: its path in the incoming folder, a code of the reason, a sentence, and since when.

    `problems`: the first refused records of the file, each with `where`, `path` and `reason`.
    """

    id: int
    name: str
    kind: str
    size: int
    reason: str
    detail: str
    problems: list[dict[str, str]]
    since: datetime


@router.get(PATH, Can.RELEASE, response=list[FeedStatus])
def list_feeds(access: Access) -> list[FeedStatus]:
    """List the feeds of the project with what waits where."""
    return [selectors.status_of(one) for one in selectors.feeds_of(access.project)]


@router.post(PATH, Can.RELEASE, response={201: FeedStatus})
def create_feed(access: Access, body: NewFeed) -> FeedStatus:
    """Add a feed, which works with your rights. Its certificates are signed in your name."""
    with named(FIELDS):
        made = feeds.add_feed(project=access.project, order=feeds.FeedOrder(**body.dict()), actor=access.user)
    return selectors.status_of(made)


@router.get(ONE, Can.RELEASE, response=FeedStatus)
def read_feed(access: Access, feed: OneFeed) -> FeedStatus:
    """Read where the files of a feed wait, and since when."""
    return selectors.status_of(feed)


@router.get(f"{ONE}/quarantine", Can.RELEASE, response=Page[QuarantinedFile])
def list_quarantined_files(request: ApiRequest, access: Access, feed: OneFeed, paging: Query[Paging]) -> PageAnswer:
    """List the files that could not be imported, with the reason."""
    rows = selectors.quarantined(feed).order_by("pk")
    return paged_rows(request, paging, rows, QuarantinedFile.from_orm)


@router.post(f"{ONE}/pause", Can.RELEASE, response=FeedStatus)
def pause_feed_now(access: Access, feed: OneFeed) -> FeedStatus:
    """Pause a feed."""
    return selectors.status_of(feeds.pause_feed(feed=feed, actor=access.user))


@router.post(f"{ONE}/continue", Can.RELEASE, response=FeedStatus)
def continue_paused_feed(access: Access, feed: OneFeed) -> FeedStatus:
    """Continue a paused feed."""
    return selectors.status_of(feeds.continue_feed(feed=feed, actor=access.user))


@router.post(f"{ONE}/work", Can.RELEASE, response={202: JobItem})
def start_feed(access: Access, feed: OneFeed) -> Job:
    """Let a feed look at its folder now, and do everything that can be done."""
    return feeds.start_work(feed)


@router.post(f"{ONE}/run", Can.RELEASE, response=FeedStatus)
def choose_run_of_feed(access: Access, feed: OneFeed, body: FeedRun) -> FeedStatus:
    """Let another run read the notes that come from now on."""
    with named({"run": "run"}):
        return selectors.status_of(feeds.choose_run(feed=feed, run=body.run, actor=access.user))
