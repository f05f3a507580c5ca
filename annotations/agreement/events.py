"""Events of causes of disagreements and of amended guidelines."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import Verb
from annotations.projects.events import GuidelinesChanged


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
