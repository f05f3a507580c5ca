"""Events of patients' ids."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import Verb


class PatientsSet(TypedDict):
    notes: int


PATIENTS_SET = Verb[PatientsSet]("patients.set", _("set patient ids"))
