"""Events of refinements."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import Verb


class RefinementStarted(TypedDict):
    source: int
    author: int
    method: str


REFINEMENT_STARTED = Verb[RefinementStarted]("refinement.started", _("started a refinement of suggestions"))
