"""The label of each kind of identifier in a project."""

import hashlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import Count, Q, QuerySet
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from annotations.core.access import Access
from annotations.core.bulk import among
from annotations.core.sealing import project_key
from annotations.core.services import ServiceError
from annotations.models import Document, KnownPerson, KnownUpload, ListedTerm, ListedTermKind, Project
from annotations.projects.selectors.labels import accepted_labels, labels_of
from annotations.release.rules.known.matcher import VERSION, DenyList, Profile, find
from annotations.release.rules.known.person import FIELDS, MasterPerson, Mention
from annotations.release.rules.known.reading import DATA, folded
from annotations.release.rules.redaction.policy import IdentifierType as Kind
from annotations.release.rules.redaction.policy import kinds_of
from annotations.text.search import word_groups

# The kinds that mentions have.
USED: Final = (
    Kind.NAME, Kind.DATE, Kind.PHONE, Kind.EMAIL, Kind.STREET,
    Kind.ZIP, Kind.CITY, Kind.NATIONAL_ID, Kind.RECORD,
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
_WORDS: Final = {Kind(kind): words for kind, words in word_groups(DATA / "label_words.txt").items()}


def labels_by_kind(project: Project) -> dict[Kind, str]:
    """The code of a label of the project for each kind of USED: the kind's own, else the nearest.

    Where no label is near, it is a label for anything, else that of names: a mention is never left out. Raises
    ServiceError `labels` for a project without any of these.
    """
    own: dict[Kind, str] = {}  # The first label of each kind; those whose kind only words tell come last.
    for code, kind in kinds_of_labels(project).items():
        own.setdefault(kind, code)
    last = own.get(Kind.OTHER) or own.get(Kind.NAME)
    found = {}
    for kind in USED:
        near = next((own[each] for each in (kind, *_NEAREST[kind]) if each in own), None)
        label = near or last
        if label is None:
            message = _(
                "No label of this project fits known identifiers of the type “%(kind)s”. Add a label for names, "
                "such as NAME, or one for all others, such as OTHER."
            )
            raise ServiceError(message % {"kind": kind}, code="labels")
        found[kind] = label
    return found


def kinds_of_labels(project: Project) -> dict[str, Kind]:
    """The kind of each live label: by the shipped label set; for own labels, that given with them, or by their codes.

    A label that no word fits is missing. A shipped label that was merged stands for the label that it was merged into.
    """
    accepted, _ids = accepted_labels(project)
    shipped = kinds_of(project.label_set.key)
    labels = labels_of(project)
    codes = [label.code for label in labels]
    found = {code: shipped[code] for code in codes if code in shipped}
    for code in shipped:
        if code in accepted and code not in codes:
            found.setdefault(accepted[code], shipped[code])
    found |= {label.code: Kind(label.identifier) for label in labels if label.identifier in list(Kind)}
    for code in codes:
        if code not in found:
            parts = set(code.upper().replace("-", "_").split("_"))
            kind = next((kind for kind, words in _WORDS.items() if not parts.isdisjoint(words)), None)
            if kind is not None:
                found[code] = kind
    return found


# What a project has of known identifiers, for pages and commands: counts, never a value.


@dataclass(frozen=True, slots=True)
class MasterState:
    """Counts of a project's patient master and lists.

    `fields`: patients with a value, by field of MasterPerson. `covered`: notes whose patient has a row; `uncovered`:
    notes whose patient has none; `nameless`: notes without a patient id. `without_notes`: patients without a note.
    """

    patients: int
    fields: dict[str, int]
    notes: int
    covered: int
    uncovered: int
    nameless: int
    without_notes: int
    allowed: int
    denied: int


def master_state(project: Project) -> MasterState:
    """Count what the project has."""
    people = KnownPerson.objects.filter(project=project)
    notes = Document.objects.filter(project=project)
    with_row = notes.filter(patient_id__in=people.order_by().values("patient_id"))
    masks = people.order_by().values_list("fields").annotate(count=Count("id"))
    fields = Counter[str]()
    for mask, count in masks:
        fields.update(dict.fromkeys(names_of(mask), count))
    total, nameless, covered = notes.count(), notes.filter(patient_id="").count(), with_row.count()
    terms = dict(ListedTerm.objects.filter(project=project).order_by().values_list("kind").annotate(count=Count("id")))
    return MasterState(
        patients=people.count(),
        fields={name: fields[name] for name in FIELDS if fields[name]},
        notes=total,
        covered=covered,
        uncovered=total - nameless - covered,
        nameless=nameless,
        without_notes=without_notes(project).count(),
        allowed=terms.get(ListedTermKind.ALLOW, 0),
        denied=terms.get(ListedTermKind.DENY, 0),
    )


def without_notes(project: Project) -> "QuerySet[KnownPerson]":
    """The rows of patients without a note."""
    notes = Document.objects.filter(project=project).exclude(patient_id="").order_by()
    return KnownPerson.objects.filter(project=project).exclude(patient_id__in=notes.values("patient_id"))


def people_listed(project: Project) -> "QuerySet[KnownPerson]":
    """The rows of the master by patient id, without their values."""
    return KnownPerson.objects.filter(project=project).defer("sealed").order_by("patient_id")


def person_for(access: Access, pk: int) -> KnownPerson:
    """A row of the master, without its values. Raises Http404."""
    return get_object_or_404(people_listed(access.project), pk=pk)


def uploads_of(project: Project) -> "QuerySet[KnownUpload]":
    """Uploads that wait for confirmation, newest first, without their values."""
    return KnownUpload.objects.filter(project=project).defer("sealed")


def upload_for(access: Access, pk: int) -> KnownUpload:
    """One of these uploads. Raises Http404."""
    return get_object_or_404(uploads_of(access.project), pk=pk)


def is_known(project: Project, patient_id: str) -> bool:
    """Whether the master has a row of this patient."""
    return KnownPerson.objects.filter(project=project, patient_id=patient_id).exists()


def anything_known(project: Project) -> bool:
    """Whether the project has a patient master or a deny list."""
    denied = Q(project=project, kind=ListedTermKind.DENY)
    return KnownPerson.objects.filter(project=project).exists() or ListedTerm.objects.filter(denied).exists()


def content_digest(project: Project) -> str:
    """A digest of the master and the lists, which says nothing about them, but changes with them."""
    digest = hashlib.sha256(f"{VERSION}".encode())
    people = KnownPerson.objects.filter(project=project).order_by("patient_id").values_list("digest", flat=True)
    for each in people.iterator(chunk_size=5000):
        digest.update(each.encode())
    terms = ListedTerm.objects.filter(project=project).order_by("kind", "digest").values_list("kind", "digest", "label")
    for term in terms:
        digest.update(repr(term).encode())
    return digest.hexdigest()[:16]


def mask_of(names: "set[str] | frozenset[str]") -> int:
    """One bit for each field of Person that is among the names."""
    return sum(1 << at for at, name in enumerate(FIELDS) if name in names)


def names_of(mask: int) -> list[str]:
    """The inverse of `mask_of`, in the order of FIELDS."""
    return [name for at, name in enumerate(FIELDS) if mask & (1 << at)]


# What a project knows about its patients: their identifiers, and the terms of its lists.


def people_of(project: Project, patients: Collection[str]) -> dict[str, MasterPerson]:
    """The people of the patient master with these patient ids. Patients without a row are missing.

    Raises ServiceError `sealed` under another secret key.
    """
    rows = KnownPerson.objects.filter(project=project, patient_id__in=among(set(patients) - {""})).order_by()
    sealed = dict(rows.values_list("patient_id", "sealed"))
    key = project_key(project) if sealed else None
    return {patient: MasterPerson.read(key.open(bytes(values))) for patient, values in sealed.items() if key}


def terms_of(project: Project, kind: str) -> list[tuple[ListedTerm, str]]:
    """The terms of a list (ListedTermKind) with their text, in the order in which they were added."""
    rows = list(ListedTerm.objects.filter(project=project, kind=kind).order_by("id"))
    key = project_key(project) if rows else None
    return [(row, str(key.open(bytes(row.sealed)))) for row in rows if key is not None]


def allowed_terms(project: Project) -> frozenset[str]:
    """The terms of the allow list, folded."""
    return frozenset(folded(text) for _row, text in terms_of(project, ListedTermKind.ALLOW))


def denied_terms(project: Project) -> list[tuple[str, str]]:
    """The terms that must not stand in a released text, each with the code of its label, as they were added."""
    return [(text, row.label) for row, text in terms_of(project, ListedTermKind.DENY)]


# Find the known identifiers of patients in texts, with the lists of the project.


# How many prepared people are kept. A person takes about 20 kB.
KEPT: Final = 1000
NONE_DENIED: Final = DenyList(())


class Finder:
    """Finds known identifiers. Keep it no longer than one piece of work: it holds values of the master in memory."""

    def __init__(self, project: Project, *, denied: bool = True) -> None:
        """`denied`: whether to find denied terms, too."""
        self._project = project
        self.allowed = allowed_terms(project)
        terms = denied_terms(project) if denied else []
        self._denied = DenyList(terms) if terms else None
        self._profiles: dict[str, Profile | None] = {}

    def find(self, notes: Sequence[tuple[str, str]]) -> list[list[Mention]]:
        """The mentions in each of the notes, which are given as patient id and text.

        A note without a patient id, or whose patient has no row, can only mention denied terms.
        """
        self._prepare({patient for patient, _text in notes})
        profiles = [self._profiles.get(patient) for patient, _text in notes]
        return [
            find(text, profile, self._denied or NONE_DENIED, self.allowed) if profile or self._denied else []
            for profile, (_patient, text) in zip(profiles, notes, strict=True)
        ]

    def _prepare(self, patients: set[str]) -> None:
        if len(self._profiles) + len(patients) > KEPT:
            self._profiles = {patient: self._profiles[patient] for patient in patients & self._profiles.keys()}
        missing = {patient for patient in patients if patient and patient not in self._profiles}
        found = people_of(self._project, missing)
        for patient in missing:
            self._profiles[patient] = Profile(found[patient]) if patient in found else None
