"""The label of each kind of identifier in a project."""

from typing import Final

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.models import Project
from annotations.projects.selectors.labels import accepted_labels, labels_of
from annotations.release.rules.redaction.kinds import Kind, kinds_of

# The kinds that mentions have.
USED: Final = (
    Kind.NAME, Kind.DATE, Kind.PHONE, Kind.EMAIL, Kind.STREET, Kind.ZIP, Kind.CITY, Kind.NATIONAL_ID, Kind.RECORD,
    Kind.HEALTH_PLAN, Kind.ID,
)  # fmt: skip
_NUMBERS: Final = (Kind.ID, Kind.NATIONAL_ID, Kind.RECORD, Kind.HEALTH_PLAN, Kind.ACCOUNT, Kind.LICENSE)
_PLACES: Final = (Kind.LOCATION, Kind.STREET, Kind.CITY, Kind.ZIP, Kind.REGION)
# The nearest kinds, in the order in which they are tried.
_NEAREST: Final = {
    Kind.NAME: (Kind.STAFF,),
    Kind.PHONE: (Kind.FAX, Kind.EMAIL, *_NUMBERS),
    Kind.EMAIL: (Kind.URL, Kind.PHONE, *_NUMBERS),
    Kind.DATE: (Kind.AGE,),
    **dict.fromkeys((Kind.STREET, Kind.ZIP, Kind.CITY), _PLACES),
    **dict.fromkeys((Kind.NATIONAL_ID, Kind.RECORD, Kind.HEALTH_PLAN, Kind.ID), _NUMBERS),
}
# Words in the codes of labels that a project made itself.
_WORDS: Final = {
    Kind.STAFF: ("DOCTOR", "STAFF", "PHYSICIAN", "CLINICIAN", "SANITARIO", "MEDICO", "ARZT"),
    Kind.NAME: ("PATIENT", "NAME", "NOMBRE", "NOME", "PERSON", "PER"),
    Kind.AGE: ("AGE", "EDAD", "ETA", "ALTER"),
    Kind.HOSPITAL: ("HOSPITAL", "OSPEDALE", "CLINIC", "KLINIK"),
    Kind.ORGANIZATION: ("ORGANIZATION", "ORGANISATION", "ORG", "INSTITUCION", "COMPANY"),
    Kind.REGION: ("STATE", "REGION", "REGIONE", "PROVINCE", "PROVINCIA"),
    Kind.DATE: ("DATE", "FECHA", "DATA", "BIRTH"),
    Kind.PHONE: ("PHONE", "TEL", "CONTACT"),
    Kind.EMAIL: ("MAIL", "CORREO"),
    Kind.STREET: ("STREET", "ADDRESS", "CALLE", "INDIRIZZO", "DIRECCION", "VIA"),
    Kind.ZIP: ("ZIP", "POSTAL", "CAP"),
    Kind.CITY: ("CITY", "CIUDAD", "CITTA", "LOCATION", "LOC", "LUOGO", "PLACE", "TERRITORIO"),
    Kind.NATIONAL_ID: ("SSN", "DNI", "NATIONAL", "FISCAL"),
    Kind.RECORD: ("RECORD", "MRN", "NHC"),
    Kind.HEALTH_PLAN: ("HEALTH", "PLAN", "INSURANCE", "ASEGURAMIENTO"),
    Kind.ID: ("ID", "IDENTIFIER", "NUMBER", "CODE"),
    Kind.OTHER: ("OTHER", "OMISSIS", "MISC", "PHI", "PII", "OTROS"),
}


def labels_by_kind(project: Project) -> dict[Kind, str]:
    """The code of a label of the project for each kind of USED: the kind's own, else the nearest.

    Where no label is near, it is a label for anything, else that of names: a mention is never left out. Raises
    ServiceError `labels` for a project without any of these.
    """
    own = _own(project)
    last = own.get(Kind.OTHER) or own.get(Kind.NAME)
    found = {}
    for kind in USED:
        near = next((own[each] for each in (kind, *_NEAREST[kind]) if each in own), None)
        label = near or last
        if label is None:
            raise ServiceError(
                _(
                    "No label of this project fits known identifiers of the kind “%(kind)s”. Add a label for names, "
                    "such as NAME, or one for all others, such as OTHER."
                )
                % {"kind": kind},
                code="labels",
            )
        found[kind] = label
    return found


def kinds_of_labels(project: Project) -> dict[str, Kind]:
    """The kind of each live label: by the shipped label set, and for the project's own labels by words in their codes.

    A label that no word fits is missing. A shipped label that was merged stands for the label that it was merged into.
    """
    accepted, _ids = accepted_labels(project)
    shipped = kinds_of(project.label_set.key)
    codes = [label.code for label in labels_of(project)]
    found = {code: shipped[code] for code in codes if code in shipped}
    for code in shipped:
        if code in accepted and code not in codes:
            found.setdefault(accepted[code], shipped[code])
    for code in codes:
        if code not in found:
            parts = set(code.upper().replace("-", "_").split("_"))
            kind = next((kind for kind, words in _WORDS.items() if not parts.isdisjoint(words)), None)
            if kind is not None:
                found[code] = kind
    return found


def _own(project: Project) -> dict[Kind, str]:
    """The first label of each kind; labels whose kind only their words tell come last."""
    found: dict[Kind, str] = {}
    for code, kind in kinds_of_labels(project).items():
        found.setdefault(kind, code)
    return found
