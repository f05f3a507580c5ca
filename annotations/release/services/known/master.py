"""The patient master: stage a file, read it, store its people, delete rows."""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import asdict
from datetime import timedelta
from typing import Any, Final, TypedDict

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.bulk import insert_objects
from annotations.core.errors import ServiceError
from annotations.core.locks import check_open, hold
from annotations.core.sealing import project_key
from annotations.jobs.services.queue import once
from annotations.models import Document, Job, KnownPerson, KnownUpload, KnownUploadState, Project, User
from annotations.release.events import (
    MASTER_CLEARED,
    MASTER_IMPORTED,
    MASTER_STAGED,
    PERSON_DELETED,
    PERSON_SHOWN,
)
from annotations.release.rules.known.master import Master
from annotations.release.rules.known.person import MasterPerson
from annotations.release.selectors.known import mask_of, people_of, without_notes

FORMATS: Final = ("csv", "fhir")
MOST_BYTES: Final = 20 * 1024 * 1024
# Rows of one query, and problems that a report lists.
BATCH: Final = 500
LISTED: Final = 100
JOB: Final = "master"


class Imported(TypedDict):
    """Patients of a file that were new, changed and unchanged; patients of the master without notes; notes without."""

    added: int
    changed: int
    unchanged: int
    problems: int
    patients_without_notes: int
    notes_without_row: int


def stage_master(*, project: Project, content: bytes, format: str, actor: User) -> tuple[KnownUpload, Job]:
    """Store a file encrypted and start the job that reads it. The same file of the same person is stored once.

    Nothing of the master changes before `import_upload`. Raises ServiceError.
    """
    _check(content, format)
    key = project_key(project)
    digest = key.hexdigest("known upload", b64encode(content).decode())
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        waiting = KnownUpload.objects.filter(project=project, created_by=actor, format=format, report__digest=digest)
        upload = waiting.first()
        if upload is None:
            upload = KnownUpload.objects.create(
                project=project,
                format=format,
                sealed=key.seal(b64encode(content).decode()),
                report={"digest": digest},
                created_by=actor,
            )
            MASTER_STAGED.record(actor=actor, project_id=project.pk, data={})
        job = once(JOB, project, {"upload": upload.pk}, actor, str(upload.pk))
    return upload, job


def _check(content: bytes, format: str) -> None:
    if format not in FORMATS:
        raise ServiceError(
            _("There is no format “%(name)s”. Choose one of: %(choices)s.")
            % {"name": format, "choices": ", ".join(FORMATS)},
            code="format",
        )
    if not content:
        raise ServiceError(_("The file is empty. Choose another file."), code="file")
    if len(content) > MOST_BYTES:
        raise ServiceError(_("The file is larger than 20 MB. Split it into several files."), code="file")


def staged_content(upload: KnownUpload) -> bytes:
    """The file of an upload that was not read yet."""
    return b64decode(project_key(upload.project_id).open(bytes(upload.sealed)))


def keep_read(*, upload: KnownUpload, master: Master, claim_fence: Any) -> None:
    """Replace an upload's file by the people in it, in the worker's fenced transaction.

    An erasure that came first has deleted the upload, so that nothing is stored.
    """
    key = project_key(upload.project_id)
    people = {patient: person.as_dict() for patient, person in master.people.items()}
    report = upload.report | report_of(master)
    with transaction.atomic():
        claim_fence()
        hold(upload.project_id)
        KnownUpload.objects.filter(pk=upload.pk, state=KnownUploadState.WAITING).update(
            state=KnownUploadState.READ, sealed=key.seal(people), report=report
        )


def report_of(master: Master) -> dict[str, Any]:
    """What a file holds: counts, names of columns, and problems by row and column; no value."""
    return {
        "rows": master.rows,
        "patients": len(master.people),
        "columns": master.columns,
        "unknown": master.unknown,
        "delimiter": master.delimiter,
        "encoding": master.encoding,
        "problems": [asdict(problem) for problem in master.problems[:LISTED]],
        "problem_count": len(master.problems),
    }


def import_upload(*, project: Project, upload_id: int, actor: User | None) -> Imported:
    """Store the people of an upload that was read, and delete the upload. Raises ServiceError `gone` after that."""
    with transaction.atomic():
        hold(project.pk)
        upload = KnownUpload.objects.select_for_update().filter(project=project, pk=upload_id).first()
        if upload is None or upload.state != KnownUploadState.READ:
            raise ServiceError(
                _("This upload no longer exists or is still being read. Upload the file again."), code="gone"
            )
        people = project_key(project).open(bytes(upload.sealed))
        found = {patient: MasterPerson.read(values) for patient, values in people.items()}
        done = store_people(project=project, people=found, problems=upload.report.get("problem_count", 0), actor=actor)
        upload.delete()
    return done


def discard_upload(*, project: Project, upload_id: int) -> None:
    """Delete an upload. Twice does no harm."""
    KnownUpload.objects.filter(project=project, pk=upload_id).delete()


def store_people(
    *, project: Project, people: Mapping[str, MasterPerson], problems: int, actor: User | None
) -> Imported:
    """Add people to the master, or replace those with the same patient id. Others stay as they are."""
    counts = {"added": 0, "changed": 0, "unchanged": 0}
    key = project_key(project)
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        check_open(project.pk)
        patients = sorted(people)
        for at in range(0, len(patients), BATCH):
            some = patients[at : at + BATCH]
            rows = KnownPerson.objects.filter(project=project, patient_id__in=some)
            there = {row.patient_id: row for row in rows.defer("sealed")}
            new: list[KnownPerson] = []
            changed: list[KnownPerson] = []
            for patient in some:
                values = people[patient].as_dict()
                digest = key.hexdigest("known person", patient, repr(sorted(values.items())))
                row = there.get(patient)
                if row is not None and row.digest == digest:
                    counts["unchanged"] += 1
                    continue
                fresh = row or KnownPerson(project=project, patient_id=patient)
                fresh.sealed, fresh.digest, fresh.fields = key.seal(values), digest, mask_of(set(values))
                fresh.updated_at = timezone.now()
                (changed if row is not None else new).append(fresh)
            insert_objects(KnownPerson, new)
            KnownPerson.objects.bulk_update(changed, ["sealed", "digest", "fields", "updated_at"])
            counts["added"] += len(new)
            counts["changed"] += len(changed)
        MASTER_IMPORTED.record(
            actor=actor,
            project_id=project.pk,
            data={
                "added": counts["added"],
                "changed": counts["changed"],
                "unchanged": counts["unchanged"],
                "problems": problems,
            },
        )
        notes = Document.objects.filter(project=project)
        covered = notes.filter(
            patient_id__in=KnownPerson.objects.filter(project=project).order_by().values("patient_id")
        )
        return {
            "added": counts["added"],
            "changed": counts["changed"],
            "unchanged": counts["unchanged"],
            "problems": problems,
            "patients_without_notes": without_notes(project).count(),
            "notes_without_row": notes.count() - covered.count(),
        }


def show_person(*, project: Project, row: KnownPerson, actor: User) -> MasterPerson | None:
    """Return a person of the master, and record that somebody looked. None where the row was deleted meanwhile."""
    person = people_of(project, [row.patient_id]).get(row.patient_id)
    if person is not None:
        PERSON_SHOWN.record(actor=actor, project_id=project.pk, data={})
    return person


def delete_person(*, project: Project, person_id: int, actor: User | None) -> int:
    """Delete one patient's row. Return how many rows there were: none at the second time."""
    with transaction.atomic():
        count = KnownPerson.objects.filter(project=project, pk=person_id).delete()[0]
        if count:
            PERSON_DELETED.record(actor=actor, project_id=project.pk, data={})
    return count


def clear_master(*, project: Project, actor: User | None) -> int:
    """Delete all rows of the master, and uploads that wait. Return how many patients there were."""
    with transaction.atomic():
        KnownUpload.objects.filter(project=project).delete()
        count = KnownPerson.objects.filter(project=project).delete()[0]
        if count:
            MASTER_CLEARED.record(actor=actor, project_id=project.pk, data={"patients": count})
    return count


def erase_known(*, project: Project, patient: str, **_erased: object) -> None:
    """Delete what the project knows about a patient that is being erased: the row, and uploads that may hold it."""
    if patient:
        KnownPerson.objects.filter(project=project, patient_id=patient).delete()
        KnownUpload.objects.filter(project=project).delete()


def delete_expired_uploads() -> int:
    """Delete uploads that nobody confirmed. Return how many there were."""
    before = timezone.now() - timedelta(hours=settings.STORED_FILE_HOURS)
    return KnownUpload.objects.filter(created_at__lt=before).delete()[0]
