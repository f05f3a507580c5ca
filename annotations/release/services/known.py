"""The patient master: stage a file, read it, store its people, delete rows."""

import io
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any, Final, NamedTuple

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.bulk import among, insert_objects
from annotations.core.sealing import project_key
from annotations.core.services import ServiceError, check_open, hold
from annotations.formats.files import csv_reading
from annotations.formats.files.csv_files import csv_line, unquoted
from annotations.jobs.services.queue import once
from annotations.models import (
    Document,
    Job,
    KnownPerson,
    KnownUpload,
    KnownUploadState,
    ListedTerm,
    ListedTermKind,
    Project,
    User,
)
from annotations.projects.selectors.labels import accepted_labels
from annotations.release import events
from annotations.release.rules.known.master import Master
from annotations.release.rules.known.person import MasterPerson
from annotations.release.rules.known.reading import folded
from annotations.release.selectors.known import mask_of, people_of, terms_of, without_notes
from annotations.text.names import unkeepable

FORMATS: Final = ("csv", "fhir")
MOST_BYTES: Final = 20 * 1024 * 1024
# Rows of one update, and problems that a report lists.
BATCH: Final = 500
LISTED: Final = 100
JOB: Final = "master"


class MasterImportCounts(events.MasterImported):
    """What was imported; patients of the master without notes, and notes of patients without a row."""

    patients_without_notes: int
    notes_without_row: int


class StagedUpload(NamedTuple):
    """An upload of a patient master, and the job that reads it."""

    upload: KnownUpload
    job: Job


def stage_master(*, project: Project, content: bytes, format: str, actor: User) -> StagedUpload:
    """Store a file encrypted and start the job that reads it. The same file of the same person is stored once.

    Nothing of the master changes before `import_upload`.
    """
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
            events.MASTER_STAGED.record(actor=actor, project_id=project.pk, data={})
        job = once(JOB, project, {"upload": upload.pk}, actor, str(upload.pk))
    return StagedUpload(upload, job)


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


def import_upload(*, project: Project, upload_id: int, actor: User | None) -> MasterImportCounts:
    """Store the people of an upload that was read, and delete the upload. Raises ServiceError `gone` after that."""
    with transaction.atomic():
        hold(project.pk)
        upload = KnownUpload.objects.select_for_update().filter(project=project, pk=upload_id).first()
        if upload is None or upload.state != KnownUploadState.READ:
            message = _("This upload no longer exists or is still being read. Upload the file again.")
            raise ServiceError(message, code="gone")
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
) -> MasterImportCounts:
    """Add people to the master, or replace those with the same patient id. Others stay as they are."""
    key = project_key(project)
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        check_open(project.pk)
        rows = KnownPerson.objects.filter(project=project, patient_id__in=among(people)).defer("sealed")
        there = {row.patient_id: row for row in rows}
        new: list[KnownPerson] = []
        changed: list[KnownPerson] = []
        for patient, person in sorted(people.items()):
            values = person.as_dict()
            digest = key.hexdigest("known person", patient, repr(sorted(values.items())))
            row = there.get(patient)
            if row is None or row.digest != digest:
                fresh = row or KnownPerson(project=project, patient_id=patient)
                fresh.sealed, fresh.digest, fresh.fields = key.seal(values), digest, mask_of(set(values))
                fresh.updated_at = timezone.now()
                (changed if row is not None else new).append(fresh)
        insert_objects(KnownPerson, new)
        KnownPerson.objects.bulk_update(changed, ["sealed", "digest", "fields", "updated_at"], batch_size=BATCH)
        counts: events.MasterImported = {
            "added": len(new),
            "changed": len(changed),
            "unchanged": len(people) - len(new) - len(changed),
            "problems": problems,
        }
        events.MASTER_IMPORTED.record(actor=actor, project_id=project.pk, data=counts)
        notes = Document.objects.filter(project=project)
        known = KnownPerson.objects.filter(project=project).order_by().values("patient_id")
        lacking = notes.count() - notes.filter(patient_id__in=known).count()
        return {**counts, "patients_without_notes": without_notes(project).count(), "notes_without_row": lacking}


def show_person(*, project: Project, row: KnownPerson, actor: User) -> MasterPerson | None:
    """Return a person of the master, and record that somebody looked. None where the row was deleted meanwhile."""
    person = people_of(project, [row.patient_id]).get(row.patient_id)
    if person is not None:
        events.PERSON_SHOWN.record(actor=actor, project_id=project.pk, data={})
    return person


def delete_person(*, project: Project, person_id: int, actor: User | None) -> int:
    """Delete one patient's row. Return how many rows there were: none at the second time."""
    with transaction.atomic():
        count = KnownPerson.objects.filter(project=project, pk=person_id).delete()[0]
        if count:
            events.PERSON_DELETED.record(actor=actor, project_id=project.pk, data={})
    return count


def clear_master(*, project: Project, actor: User | None) -> int:
    """Delete all rows of the master, and uploads that wait. Return how many patients there were."""
    with transaction.atomic():
        KnownUpload.objects.filter(project=project).delete()
        count = KnownPerson.objects.filter(project=project).delete()[0]
        if count:
            events.MASTER_CLEARED.record(actor=actor, project_id=project.pk, data={"patients": count})
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


# The allow list and the deny list of a project.


# The longest term in code points, and the most terms of a list.
LONGEST: Final = 200
MOST: Final = 20_000
COLUMNS: Final = ("list", "term", "label")


@dataclass(frozen=True)
class AddedTerms:
    added: int
    already: int


def add_terms(*, project: Project, kind: str, terms: Sequence[tuple[str, str]], actor: User | None) -> AddedTerms:
    """Add terms, each with the code of its label, to a list (ListedTermKind).

    Terms that differ in case or accents only are the same. A denied term needs a label. A term that is on the list
    already gets the new label. Raises ServiceError.
    """

    accepted, _ids = accepted_labels(project)
    wanted: dict[str, tuple[str, str]] = {}
    for number, (term, label) in enumerate(terms, 1):
        text = " ".join(term.split())
        if not text:
            continue
        _check_term(text, number)
        if kind == ListedTermKind.DENY and label not in accepted:
            raise ServiceError(
                _("Line %(number)d: a denied term needs a label of this project. Choose one.") % {"number": number}
                if len(terms) > 1
                else _("A denied term needs a label of this project. Choose one."),
                code="label",
            )
        wanted.setdefault(folded(text), (text, accepted[label] if kind == ListedTermKind.DENY else ""))
    if not wanted:
        raise ServiceError(_("Enter at least one term."), code="terms")
    key = project_key(project)
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        check_open(project.pk)
        there = {row.digest: row for row in ListedTerm.objects.filter(project=project, kind=kind)}
        new, changed, already = [], [], 0
        for form, (text, label) in wanted.items():
            digest = key.hexdigest("listed term", form)
            row = there.get(digest)
            if row is None:
                new.append(ListedTerm(project=project, kind=kind, sealed=key.seal(text), digest=digest, label=label))
                continue
            already += 1
            if row.label != label:
                row.label = label
                changed.append(row)
        if len(there) + len(new) > MOST:
            raise ServiceError(_("A list can have at most %(most)d terms.") % {"most": MOST}, code="terms")
        insert_objects(ListedTerm, new)
        ListedTerm.objects.bulk_update(changed, ["label"])
        events.TERMS_ADDED.record(
            actor=actor, project_id=project.pk, data={"list": str(kind), "added": len(new), "already": already}
        )
    return AddedTerms(len(new), already)


def _check_term(text: str, number: int) -> None:
    if len(text) > LONGEST or unkeepable(text) or len(folded(text).replace(" ", "")) < 2:
        message = _(
            "Line %(number)d is not a term: a term has at least two letters or digits, at most %(most)d characters."
        )
        raise ServiceError(message % {"number": number, "most": LONGEST}, code="terms")


def remove_term(*, project: Project, term_id: int, actor: User | None) -> int:
    """Remove a term from its list. Return how many there were: none at the second time."""
    with transaction.atomic():
        row = ListedTerm.objects.select_for_update().filter(project=project, pk=term_id).first()
        if row is None:
            return 0
        row.delete()
        events.TERMS_REMOVED.record(actor=actor, project_id=project.pk, data={"list": row.kind, "removed": 1})
    return 1


def import_lists(*, project: Project, content: bytes, actor: User | None) -> dict[str, AddedTerms]:
    """Add the terms of a CSV file with the columns list, term and label. Return the counts by list.

    Nothing is added if a line is wrong. Raises ServiceError, which names lines and columns, never a term.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ServiceError(_("The file is not UTF-8. Save it as CSV in UTF-8."), code="file") from None
    try:
        rows = list(csv_reading.DictReader(io.StringIO(text), strict=True))
    except csv_reading.Error:
        raise ServiceError(_("The file can't be read as CSV. Check its quotation marks."), code="file") from None
    found: dict[str, list[tuple[str, str]]] = {str(kind): [] for kind in ListedTermKind.values}
    for number, row in enumerate(rows, 2):
        if row.get("list") not in found or not row.get("term"):
            message = _(
                "Line %(number)d needs “allow” or “deny” in the column “list”, and a term in the column “term”."
            )
            raise ServiceError(message % {"number": number}, code="file")
        found[row["list"]].append((unquoted(row["term"]), (row.get("label") or "").strip()))
    if not rows:
        raise ServiceError(_("The file has no terms. It needs the columns list, term and label."), code="file")
    with transaction.atomic():
        return {
            kind: add_terms(project=project, kind=kind, terms=terms, actor=actor)
            for kind, terms in found.items()
            if terms
        }


def export_lists(*, project: Project, actor: User) -> list[str]:
    """The lines of a CSV file with both lists, and record that somebody took them."""
    rows = [(row, text) for kind in ListedTermKind.values for row, text in terms_of(project, kind)]
    events.TERMS_EXPORTED.record(actor=actor, project_id=project.pk, data={"terms": len(rows)})
    return [csv_line(COLUMNS), *(csv_line([row.kind, text, row.label]) for row, text in rows)]
