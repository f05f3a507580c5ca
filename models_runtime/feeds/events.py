"""Events of feeds."""

from typing import NotRequired, TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.services import Verb


class OfFeed(TypedDict):
    """`feed` is the id of the feed."""

    feed: int


class FeedAdded(OfFeed):
    """`read_percent` of the notes are reviewed before they are released."""

    policy: int
    read_percent: int
    period: str


class FeedChanged(OfFeed):
    """`run`: the id of the author of the run that reads from now on; None: the feed makes its own run."""

    run: int | None


class FilesDelivered(OfFeed):
    """Counts: files that were written to the outgoing folder, and files that were withdrawn from it."""

    release: NotRequired[int]
    delivered: NotRequired[int]
    withdrawn: NotRequired[int]


FEED_ADDED = Verb[FeedAdded]("feed.added", _("added a feed"))
FEED_PAUSED = Verb[OfFeed]("feed.paused", _("paused a feed"))
FEED_CONTINUED = Verb[OfFeed]("feed.continued", _("continued a feed"))
FEED_RUN_CHOSEN = Verb[FeedChanged]("feed.run_chosen", _("chose another run for a feed"))
FEED_DELIVERED = Verb[FilesDelivered]("feed.delivered", _("delivered files to the outgoing folder of a feed"))
FEED_WITHDRAWN = Verb[FilesDelivered]("feed.withdrawn", _("withdrew files from the outgoing folder of a feed"))
