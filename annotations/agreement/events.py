"""Events of causes of disagreements and of amended guidelines."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import Verb
from annotations.projects.events import GuidelinesChanged


class GuidelinesAmended(GuidelinesChanged):
    amendment: int


class CauseSet(TypedDict):
    """`before`: the causes that this one replaces, as [start, end, kind]."""

    bounds: list[int]
    kind: str
    before: list[list[int | str]]


GUIDELINES_AMENDED = Verb[GuidelinesAmended]("guidelines.amended", _("amended the guidelines"))
CAUSE_SET = Verb[CauseSet]("cause.set", _("set a disagreement's cause"))
