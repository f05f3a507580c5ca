"""What a project knows about its patients: their identifiers, and the terms of its lists."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from annotations.core.sealing import Key, project_key
from annotations.models import KnownPerson, ListedTerm, Project
from annotations.release.rules.known.folding import folded
from annotations.release.rules.known.person import Identifier, Person, identifiers

# How many patients one query looks up.
BATCH = 500


@dataclass(frozen=True, slots=True)
class DeniedTerm:
    """A term that must not stand in a released text, and the code of its label."""

    text: str
    label: str


def people_of(project: Project, patients: Collection[str]) -> dict[str, Person]:
    """The people of the patient master with these patient ids. Patients without a row are missing.

    Raises ServiceError `sealed` under another secret key.
    """
    return dict(_people(project, patients))


def _people(project: Project, patients: Collection[str]) -> Iterator[tuple[str, Person]]:
    key: Key | None = None
    wanted = sorted({patient for patient in patients if patient})
    for at in range(0, len(wanted), BATCH):
        some = wanted[at : at + BATCH]
        rows = KnownPerson.objects.filter(project=project, patient_id__in=some).order_by()
        for patient, sealed in rows.values_list("patient_id", "sealed"):
            key = key or project_key(project)
            yield patient, Person.read(key.open(bytes(sealed)))


def identifiers_of(project: Project, patients: Collection[str]) -> dict[str, list[Identifier]]:
    """The known identifiers of these patients, each as it is usually written. Patients without a row are missing."""
    return {patient: identifiers(person) for patient, person in _people(project, patients)}


def terms_of(project: Project, kind: str) -> list[tuple[ListedTerm, str]]:
    """The terms of a list (ListedTerm.Kind) with their text, in the order in which they were added."""
    rows = list(ListedTerm.objects.filter(project=project, kind=kind).order_by("id"))
    key = project_key(project) if rows else None
    return [(row, str(key.open(bytes(row.sealed)))) for row in rows if key is not None]


def allowed_terms(project: Project) -> frozenset[str]:
    """The terms of the allow list, folded (domain.knowing.folding)."""
    return frozenset(folded(text) for _row, text in terms_of(project, ListedTerm.Kind.ALLOW))


def denied_terms(project: Project) -> list[DeniedTerm]:
    """The terms of the deny list, as they were added."""
    return [DeniedTerm(text, row.label) for row, text in terms_of(project, ListedTerm.Kind.DENY)]
