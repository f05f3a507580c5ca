"""Events of judging."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import Verb


class JudgingStarted(TypedDict):
    judging: int
    gold: int
    judges: list[str]


JUDGING_STARTED = Verb[JudgingStarted]("judging.started", _("started a judging of de-identified notes"))
