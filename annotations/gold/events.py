"""Events of gold and of gold versions."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.services import Verb


class GoldMade(TypedDict):
    from_set: int
    spans: int
    removed: list[list[int]]


class GoldWithdrawn(TypedDict):
    removed: list[list[int]]


class GoldFrozen(TypedDict):
    version: int
    hash: str
    notes: int


class GoldSplit(TypedDict):
    version: int
    shares: dict[str, int]
    notes: dict[str, int]
    patients: dict[str, int]
    kept: int


GOLD_MADE = Verb[GoldMade]("gold.made", _("made an annotation set gold"))
GOLD_WITHDRAWN = Verb[GoldWithdrawn]("gold.withdrawn", _("withdrew gold"))
GOLD_FROZEN = Verb[GoldFrozen]("gold.frozen", _("froze a gold version"))
GOLD_SPLIT = Verb[GoldSplit]("gold.split", _("split a gold version"))
