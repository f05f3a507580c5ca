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
