"""Events of pairs of clear and published decisions."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.services import Verb


class DecisionsPaired(TypedDict):
    """The import of the clear notes, the author of the annotation sets, and counts."""

    imported: int
    author: int
    published: int
    pairs: int
    spans: int


class PairSettled(TypedDict):
    """The published decision, and the id of its clear note; None if no note belongs to it."""

    published: int
    note: int | None


DECISIONS_PAIRED = Verb[DecisionsPaired]("decisions.paired", _("paired clear and published decisions"))
PAIR_SETTLED = Verb[PairSettled]("pair.settled", _("chose the note of a published decision"))
PAIR_REOPENED = Verb[PairSettled]("pair.reopened", _("undid the choice of a published decision's note"))
