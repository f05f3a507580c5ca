"""What a project has of known identifiers, for pages and commands: counts, never a value."""

import hashlib
from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet

from annotations.models import Document, KnownPerson, KnownUpload, ListedTerm, Project
from annotations.release.rules.known.matcher import VERSION
from annotations.release.rules.known.person import FIELDS


@dataclass(frozen=True, slots=True)
class MasterState:
    """Counts of a project's patient master and lists.

    `fields`: patients with a value, by field of Person. `covered`: notes whose patient has a row; `uncovered`: notes
    whose patient has none; `nameless`: notes without a patient id. `without_notes`: patients without a note.
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
    fields = dict.fromkeys(FIELDS, 0)
    for mask, count in masks:
        for name in names_of(mask):
            fields[name] += count
    total, nameless, covered = notes.count(), notes.filter(patient_id="").count(), with_row.count()
    terms = dict(ListedTerm.objects.filter(project=project).order_by().values_list("kind").annotate(count=Count("id")))
    return MasterState(
        patients=people.count(),
        fields=fields,
        notes=total,
        covered=covered,
        uncovered=total - nameless - covered,
        nameless=nameless,
        without_notes=without_notes(project).count(),
        allowed=terms.get(ListedTerm.Kind.ALLOW, 0),
        denied=terms.get(ListedTerm.Kind.DENY, 0),
    )


def without_notes(project: Project) -> "QuerySet[KnownPerson]":
    """The rows of patients without a note."""
    notes = Document.objects.filter(project=project).exclude(patient_id="").order_by()
    return KnownPerson.objects.filter(project=project).exclude(patient_id__in=notes.values("patient_id"))


def people_listed(project: Project) -> "QuerySet[KnownPerson]":
    """The rows of the master by patient id, without their values."""
    return KnownPerson.objects.filter(project=project).defer("sealed").order_by("patient_id")


def uploads_of(project: Project) -> "QuerySet[KnownUpload]":
    """Uploads that wait for confirmation, newest first, without their values."""
    return KnownUpload.objects.filter(project=project).defer("sealed")


def is_known(project: Project, patient_id: str) -> bool:
    """Whether the master has a row of this patient."""
    return KnownPerson.objects.filter(project=project, patient_id=patient_id).exists()


def anything_known(project: Project) -> bool:
    """Whether the project has a patient master or a deny list."""
    denied = Q(project=project, kind=ListedTerm.Kind.DENY)
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
