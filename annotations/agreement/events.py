"""Events of causes of disagreements and of amended guidelines."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.services import NoData, Verb
from annotations.projects.events import GuidelinesChanged
from annotations.text.attributes import Provenance, Value


class GuidelinesAmended(GuidelinesChanged):
    amendment: int


class CauseChanged(TypedDict):
    """`before`: the causes of the location before, as [start, end, kind].

    Until a location could have several causes, an addition replaced the others, and an empty `kind` removed them.
    """

    bounds: list[int]
    kind: str
    before: list[list[int | str]]


GUIDELINES_AMENDED = Verb[GuidelinesAmended]("guidelines.amended", _("amended the guidelines"))
CAUSE_SET = Verb[CauseChanged]("cause.set", _("added a cause to a disagreement"))
CAUSE_REMOVED = Verb[CauseChanged]("cause.removed", _("removed a cause from a disagreement"))


# Events of adjudicating.


AdjudicatedSpan = tuple[int, int, int, Provenance | None, dict[str, Value] | None]
"""Start, end, label id, provenance, attributes."""

HeardSpan = list[int | dict[str, Value]]
"""An annotator's span as a decision keeps it: start, end, label id, and its attributes if it has some."""


class AdjudicatedLocation(TypedDict):
    """An adjudicated location: its bounds, how and by whom it was decided, and its spans with their provenance."""

    start: int
    end: int
    choice: str
    author: int | None
    heard: dict[str, list[HeardSpan]]
    by: int
    at: str
    spans: list[AdjudicatedSpan]


class AdjudicationDecided(TypedDict):
    """The adjudicated locations that an act removed and added."""

    before: list[AdjudicatedLocation]
    after: list[AdjudicatedLocation]
    act: str


class AdjudicationFinished(TypedDict):
    spans: int


MajorityCounts = dict[str, int | str]
"""A majority vote over many notes (`vote`: its id), with the counts that MajorityAct explains."""


ADJUDICATION_DECIDED = Verb[AdjudicationDecided]("adjudication.decided", _("adjudicated a location"))
ADJUDICATION_UNDONE = Verb[AdjudicationDecided]("adjudication.undone", _("undid an adjudication"))
ADJUDICATION_FINISHED = Verb[AdjudicationFinished]("adjudication.finished", _("finished a note's adjudication"))
ADJUDICATION_REOPENED = Verb[NoData]("adjudication.reopened", _("reopened an adjudication"))
MAJORITY_APPLIED = Verb[MajorityCounts]("majority.applied", _("made a majority vote gold"))
MAJORITY_UNDONE = Verb[MajorityCounts]("majority.undone", _("undid a majority vote"))
