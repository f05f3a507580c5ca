"""Events of model runs."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import Verb


class RunStarted(TypedDict):
    author: int
    backend: str
    notes: int


RUN_STARTED = Verb[RunStarted]("run.started", _("started a model run"))
