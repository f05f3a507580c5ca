"""Events of injected errors."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import Verb


class ErrorsInjected(TypedDict):
    author: int
    gold: int
    rules: list[str]
    rate: float
    seed: int


ERRORS_INJECTED = Verb[ErrorsInjected]("errors.injected", _("injected errors into a copy of gold"))


class SystemicAccepted(TypedDict):
    systemic: int
    examples: int
    seed: int


class SystemicRemoved(TypedDict):
    systemic: int


SYSTEMIC_ACCEPTED = Verb[SystemicAccepted]("systemic.accepted", _("accepted a systemic error"))
SYSTEMIC_REMOVED = Verb[SystemicRemoved]("systemic.removed", _("removed a systemic error"))
