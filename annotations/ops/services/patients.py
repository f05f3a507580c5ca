"""Set the patient ids, types and sites of notes. An erasure finds a patient's notes by this id."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from annotations.exchange.services.sources import NoteRow
from annotations.models import Document, NoteMetadata, Project, User
from annotations.ops.events import METADATA_SET, PATIENTS_SET

BATCH = 500


@dataclass(frozen=True)
class SetRows:
    """The counts for patient ids, those for types and sites, and the names that match no note, in order."""

    patients: dict[str, Any]
    metadata: dict[str, Any]
    unknown: list[str]


def set_rows(*, project: Project, rows: Mapping[str, NoteRow], actor: User | None) -> SetRows:
    """Set patient ids, types and sites by note name. A row with a type or site need not have an id, too."""
    mapping = {name: row.patient for name, row in rows.items() if row.patient or not (row.note_type or row.site)}
    with transaction.atomic():
        patients = set_patient_ids(project=project, mapping=mapping, actor=actor)
        metadata = set_metadata(project=project, rows=rows, actor=actor)
    return SetRows(patients, metadata, sorted({*patients["unknown"], *metadata["unknown"]}))


def set_patient_ids(*, project: Project, mapping: Mapping[str, str], actor: User | None) -> dict[str, Any]:
    """Set patient ids by note name. Return counts, and the names that match no note of this project.

    A name without an id is ignored: an empty cell must not put a note out of reach of an erasure. The event contains
    counts only.
    """
    given = {name: patient for name, patient in mapping.items() if name and patient}
    names = list(given)
    changed, known = 0, set()
    with transaction.atomic():
        for at in range(0, len(names), BATCH):
            notes = list(
                Document.objects.filter(project=project, name__in=names[at : at + BATCH]).only(
                    "id", "name", "patient_id"
                )
            )
            known |= {note.name for note in notes}
            to_change = [note for note in notes if note.patient_id != given[note.name]]
            for note in to_change:
                note.patient_id = given[note.name]
            Document.objects.bulk_update(to_change, ["patient_id"], batch_size=BATCH)
            changed += len(to_change)
        if changed:
            PATIENTS_SET.record(actor=actor, project_id=project.pk, data={"notes": changed})
    return {
        "changed": changed,
        "same": len(known) - changed,
        "without_id": len(mapping) - len(given),
        "unknown": sorted(set(given) - known),
    }


def set_metadata(*, project: Project, rows: Mapping[str, NoteRow], actor: User | None) -> dict[str, Any]:
    """Set types and sites by note name, by which audits are stratified and scores are split. Return counts.

    An empty cell changes nothing. The event contains counts only.
    """
    given = {name: row for name, row in rows.items() if name and (row.note_type or row.site)}
    names = list(given)
    changed: list[NoteMetadata] = []
    known: set[str] = set()
    with transaction.atomic():
        for at in range(0, len(names), BATCH):
            notes = Document.objects.filter(project=project, name__in=names[at : at + BATCH])
            found = notes.values_list("pk", "name", "metadata__note_type", "metadata__site")
            for pk, name, note_type, site in found:
                known.add(name)
                wanted = (given[name].note_type or note_type or "", given[name].site or site or "")
                if wanted != (note_type or "", site or ""):
                    changed.append(NoteMetadata(document_id=pk, note_type=wanted[0], site=wanted[1]))
        NoteMetadata.objects.bulk_create(
            changed, batch_size=BATCH, update_conflicts=True, unique_fields=["document"],
            update_fields=["note_type", "site"],
        )  # fmt: skip
        if changed:
            METADATA_SET.record(actor=actor, project_id=project.pk, data={"notes": len(changed)})
    return {
        "changed": len(changed),
        "same": len(known) - len(changed),
        "unknown": sorted(set(given) - known),
    }
