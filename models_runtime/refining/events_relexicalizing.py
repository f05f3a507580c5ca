"""Events of surrogates that machines make or measure."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import Verb


class SurrogatesScored(TypedDict):
    release: int
    backend: str
    notes: int


SURROGATES_SCORED = Verb[SurrogatesScored]("surrogates.scored", _("compared a model on original and released text"))
