"""Events of causes of errors."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.services import Verb
from annotations.scores.rules.errors import LabeledBounds


class ErrorCauseChanged(TypedDict):
    """`gold` and `predicted`: the spans of the error, with label codes of the label set `labels_of` or the project."""

    author: int
    labels_of: str
    gold: LabeledBounds | None
    predicted: LabeledBounds | None
    kind: str


ERROR_CAUSE_ADDED = Verb[ErrorCauseChanged]("error_cause.added", _("added a cause to an error"))
ERROR_CAUSE_REMOVED = Verb[ErrorCauseChanged]("error_cause.removed", _("removed a cause from an error"))
