"""Routes of patients: set patient ids, and erase one patient's notes. No address contains a patient id."""

from datetime import datetime
from typing import Any, Self

from django.utils.translation import gettext as _
from ninja import Field, Router, Schema

from annotations.core.access import Access, Can
from annotations.core.api.problems import check, invalid, named
from annotations.core.api.requests import ApiRequest, enter
from annotations.core.api.schemas import Body
from annotations.core.events import Erasure
from annotations.core.requests import takes_uploads
from annotations.exchange.services.sources import NoteRow
from annotations.models import Document
from annotations.ops.forms import EraseForm, PatientForm
from annotations.ops.selectors.free_texts import free_texts, seen_weights
from annotations.ops.services.backup import backups_before_erasing
from annotations.ops.services.erasing import erase_patient, erasure_preview, set_rows

router = Router(tags=["Patients"])
PATH = "/projects/{slug:slug}/patients"
MOST_ROWS = 100_000


class EarlierBackup(Schema):
    """A backup in the data folder from before the project's last erasure, which still has the erased notes."""

    file: str
    created: datetime


class Patients(Schema):
    """How many notes there are, and how many of them have a patient id."""

    notes: int
    with_id: int
    backups: list[EarlierBackup]


class PatientId(Body):
    """The id exactly as it was imported."""

    patient_id: str = Field(max_length=80)


class RepeatedPatientId(PatientId):
    """The id, and the same id `again`, so that nobody erases another patient by mistake."""

    again: str = Field(max_length=80)


class FreeTextToCheck(Schema):
    """Texts that people wrote, which may name the patient: what they are, and the page to check."""

    what: str
    count: int
    url: str


class ModelElsewhere(Schema):
    """A model of another project that learned from this project's gold."""

    model: str
    project: str
    url: str


class ErasedNotes(Schema):
    """What an erasure deletes, and what stays for a person to check.

    `models` may have learned words of the notes. `copies` are notes of other projects with the same texts.
    `hidden_models` are in projects of which the person is no member.
    """

    notes: int
    annotation_sets: int
    gold_versions: int
    stored_files: int
    models: int
    copies: int
    texts: list[FreeTextToCheck]
    models_elsewhere: list[ModelElsewhere]
    hidden_models: int
    backups: list[EarlierBackup]

    @classmethod
    def of(cls, counts: Erasure, access: Access) -> Self:
        weights = seen_weights(access.project, access.user)
        return cls(
            **counts,
            texts=[FreeTextToCheck(**text.as_dict()) for text in free_texts(access.project)],
            models_elsewhere=[
                ModelElsewhere(model=one.model, project=one.project, url=one.url) for one in weights.shown
            ],
            hidden_models=weights.hidden,
            backups=_backups(access),
        )


class AboutNote(Body):
    """What is known about the note with this name. An empty field changes nothing."""

    name: str = Field(max_length=240)
    patient_id: str = Field("", max_length=80)
    note_type: str = Field("", max_length=80)
    site: str = Field("", max_length=80)


class AboutNotes(Body):
    rows: list[AboutNote] = Field(min_length=1, max_length=MOST_ROWS)


class SetPatients(Schema):
    """Notes whose patient id changed, notes whose type or site changed, and names that match no note."""

    patients: int
    metadata: int
    unknown: list[str]


@router.get(PATH, response=Patients)
def read_patients(request: ApiRequest, slug: str) -> Patients:
    """Count the notes with a patient id, and list the backups that still have erased notes."""
    access = enter(request, slug, Can.MANAGE)
    notes = Document.objects.filter(project=access.project)
    with_id = notes.exclude(patient_id="").count()
    return Patients(notes=notes.count(), with_id=with_id, backups=_backups(access))


@router.post(f"{PATH}/ids", response=SetPatients)
@takes_uploads(Can.MANAGE)
def set_patients(request: ApiRequest, slug: str, body: AboutNotes) -> SetPatients:
    """Set patient ids, types and sites of many notes by name."""
    access = enter(request, slug, Can.MANAGE)
    rows: dict[str, NoteRow] = {}
    for number, row in enumerate(body.rows):
        if row.name in rows:
            raise invalid((f"rows.{number}.name", _("Another row of this request has the same name.")))
        rows[row.name] = NoteRow(row.patient_id, row.note_type, row.site)
    done = set_rows(project=access.project, rows=rows, actor=access.user)
    return SetPatients(patients=done.patients["changed"], metadata=done.metadata["changed"], unknown=done.unknown)


@router.post(f"{PATH}/preview", response=ErasedNotes)
def preview_erasure(request: ApiRequest, slug: str, body: PatientId) -> ErasedNotes:
    """Count what erasing a patient's notes would delete. It deletes nothing."""
    access = enter(request, slug, Can.MANAGE)
    patient = check(PatientForm(body.dict()))["patient_id"]
    with named({"none": "patient_id"}):
        return ErasedNotes.of(erasure_preview(project=access.project, patient_id=patient), access)


@router.post(f"{PATH}/erase", response=ErasedNotes)
def erase_notes_of_patient(request: ApiRequest, slug: str, body: RepeatedPatientId) -> ErasedNotes:
    """Erase a patient's notes with everything made from them. Nobody can undo this."""
    access = enter(request, slug, Can.MANAGE)
    patient = check(EraseForm(body.dict()))["patient_id"]
    with named({"none": "patient_id"}):
        counts = erase_patient(project=access.project, patient_id=patient, actor=access.user)
    return ErasedNotes.of(counts, access)


def _backups(access: Access) -> list[EarlierBackup]:
    found: list[dict[str, Any]] = backups_before_erasing(access.project)
    return [EarlierBackup(**each) for each in found]
