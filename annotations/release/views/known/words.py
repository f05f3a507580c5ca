"""What the pages call fields and problems."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

FIELD_NAMES: Final = {
    "patient_id": gettext_lazy("Patient ID"),
    "given": gettext_lazy("Given names"),
    "family": gettext_lazy("Family names"),
    "second_family": gettext_lazy("Second family names"),
    "birth_dates": gettext_lazy("Birth date"),
    "sex": gettext_lazy("Sex"),
    "phones": gettext_lazy("Phone numbers"),
    "emails": gettext_lazy("E-mail addresses"),
    "streets": gettext_lazy("Streets"),
    "zips": gettext_lazy("ZIP codes"),
    "cities": gettext_lazy("Cities"),
    "national_ids": gettext_lazy("National IDs"),
    "records": gettext_lazy("Medical record numbers"),
    "insurance": gettext_lazy("Insurance numbers"),
    "ids": gettext_lazy("Other IDs"),
    "relatives": gettext_lazy("Names of relatives"),
}


def problem_lines(problems: Iterable[Mapping[str, Any]]) -> list[str]:
    """A sentence for each problem of a file, with row and column, never a value."""
    return [_sentence(problem) % {"row": problem["row"], "column": problem["column"]} for problem in problems]


def _sentence(problem: Mapping[str, Any]) -> str:
    match problem["code"]:
        case "no id":
            return _("Row %(row)d has no patient ID and is left out.")
        case "bad id":
            return _(
                "Row %(row)d has a patient ID of more than 80 characters, or with control characters, and is left out."
            )
        case "cells":
            return _("Row %(row)d has more cells than the first line and is left out.")
        case "date":
            return _("Row %(row)d, column “%(column)s”: this is not a date. The value is left out.")
        case "fhir":
            return _("Resource %(row)d, element “%(column)s”, does not follow FHIR R4 and is left out.")
        case "many":
            return _("Row %(row)d, “%(column)s”: the patient has more than 100 values. Only the first ones are kept.")
        case _:
            return _("Row %(row)d, column “%(column)s”: the value is too long or not text, and is left out.")
