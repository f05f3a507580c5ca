"""Set the patient ids of notes. An erasure finds a patient's notes by this id."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from annotations.models import Document, Project, User
from annotations.ops.events import PATIENTS_SET

BATCH = 500


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
