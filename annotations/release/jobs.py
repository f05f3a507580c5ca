"""The jobs of releases: prepare the notes, export them, and read an uploaded patient master."""

import time
from collections.abc import Collection
from typing import Any

from django.utils.translation import gettext as _

from annotations.core.services import ServiceError
from annotations.jobs.runner import Claim, take_share, writing_share
from annotations.models import Document, KnownUpload, KnownUploadState, Project, Release, ReleasedNote, ReleaseState
from annotations.release.rules.known.master import Master, MasterError, Problem, person_of, read_csv, resources
from annotations.release.selectors.releases import leak_counts, note_counts
from annotations.release.services.batches import MEANWHILE, next_batch, pending, prepare_rows, preparer_of
from annotations.release.services.known import discard_upload, keep_read, staged_content
from annotations.release.services.searching import searched_in
from annotations.release.services.settling import dropped, settle, surrogate_measures

# How often the worker that leads the job checks whether others have finished their batches (seconds).
LOOK_EVERY = 0.25


def run(claim: Claim) -> dict[str, Any]:
    """Prepare the pending notes of a release, together with other workers. A killed worker's notes stay pending."""
    release = Release.objects.select_related("project__label_set", "policy").get(pk=claim.params["release_id"])
    preparer = preparer_of(release)
    if claim.leads:
        _count(claim, release)
    preparer.avoid_originals(claim.check)
    while True:
        ids = take_share(claim, lambda held: next_batch(release, held))
        if ids:
            claim.check()
            try:
                prepare_rows(release, preparer, ids, writing_share(claim, len(ids)))
            except MEANWHILE:
                continue  # The rows of erased notes are gone.
        elif claim.leads and pending(release).exists():
            claim.check()
            time.sleep(LOOK_EVERY)
        else:
            break
    return _finish(claim, release) if claim.leads else {}


def _count(claim: Claim, release: Release) -> None:
    """Count the prepared notes while no helper can write. Each share then increases `done`."""
    with claim.fenced():
        total = ReleasedNote.objects.filter(release=release).count()
        claim.progress(total - pending(release).count(), total)


def _finish(claim: Claim, release: Release) -> dict[str, Any]:
    measures = surrogate_measures(release)
    with claim.fenced():
        preparing = Release.objects.select_for_update(of=("self",)).filter(pk=release.pk)
        before = preparing.get().figures.get("surrogates") or {}
        preparing.filter(state=ReleaseState.PREPARING).update(
            state=ReleaseState.PREPARED,
            figures={"surrogates": measures | dropped(before), "searched": searched_in(release)},
            content_hash="",
        )
    while True:
        try:
            release = settle(release=release)
            break
        except MEANWHILE:
            claim.check()
    claim.done = claim.total = ReleasedNote.objects.filter(release=release).count()
    counts = note_counts(release)
    return {
        "release": release.number,
        "notes": counts["done"],
        "spans": release.span_count,
        "leaks": leak_counts(release)["open"],
        "held_back": counts["held"],
    }


def run_master(claim: Claim) -> dict[str, Any]:
    """Read an upload and keep the people in it. A repeated job finds that it was read. The result has counts only."""
    upload = KnownUpload.objects.select_related("project").filter(pk=claim.params["upload"]).first()
    if upload is None:
        raise ServiceError(_("This upload was discarded or erased. Upload the file again."), code="gone")
    if upload.state == KnownUploadState.WAITING:
        try:
            master = read_master(upload.project, staged_content(upload), upload.format)
        except ServiceError:
            discard_upload(project=upload.project, upload_id=upload.pk)
            raise
        keep_read(upload=upload, master=master, claim_fence=claim.fence)
        upload.refresh_from_db()
    report = upload.report
    claim.progress(report["rows"], report["rows"])
    return {"upload": upload.pk, "patients": report["patients"], "problems": report["problem_count"]}


def undo_master(params: dict[str, Any], state: str) -> None:
    """Delete the upload of a canceled or failed job."""
    KnownUpload.objects.filter(pk=params["upload"], state=KnownUploadState.WAITING).delete()


def read_master(project: Project, content: bytes, format: str) -> Master:
    """Read a file in one of FORMATS. Raises ServiceError `file`."""
    try:
        if format == "csv":
            return read_csv(content, month_first=project.language == "en")
        notes = Document.objects.filter(project=project).exclude(patient_id="").order_by()
        return read_fhir(content, set(notes.values_list("patient_id", flat=True).distinct()))
    except MasterError as error:
        raise ServiceError(str(error), code="file") from error


def read_fhir(data: bytes, patients: Collection[str]) -> Master:
    """Read a patient master from FHIR JSON. `patients` are the patient ids of notes. Raises MasterError.

    A resource that doesn't follow FHIR R4B is a problem, named by its number and element.
    """
    # Loaded on first use, in workers and commands, because it is slow to load.
    from fhir.resources.R4B.patient import Patient

    master = Master(encoding="utf-8")
    for number, resource in resources(data):
        try:
            Patient.model_validate(dict(resource))
        except (ValueError, RecursionError) as error:  # of pydantic; the latter for hundreds of levels
            master.rows += 1
            master.problems.append(Problem(number, _element(error), "fhir"))
            continue
        patient, person = person_of(resource, patients)
        master.add(patient, person, number)
    for person in master.people.values():
        master.columns.update({name: name for name in person.as_dict()})
    return master


def _element(error: Any) -> str:
    """The element of a resource that is wrong: "name.0.family"; empty if it is unknown.

    The names of elements are not values of the resource.
    """
    if isinstance(error, RecursionError):
        return ""
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    return ".".join(str(part) for part in first["loc"] if str(part).isalnum())[:80]
