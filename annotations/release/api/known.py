"""Routes of known identifiers: the patient master, its uploads, and the lists of allowed and denied terms.

Values of the master are answered on request only, for one patient, and each time is recorded.
"""

from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import Http404, HttpResponse
from ninja import Field, File, Form, Query, Schema, UploadedFile

from annotations.core.access import Access, Can
from annotations.core.api.mount import sends
from annotations.core.api.paging import Page, PageAnswer, Paging, paged, paged_rows
from annotations.core.api.routes import Answer, ApiRequest, Body, Done, ProjectRouter, check, invalid, named, read_as
from annotations.core.requests import takes_uploads
from annotations.core.services import ServiceError
from annotations.jobs.api import JobItem
from annotations.models import KnownPerson, KnownUpload, ListedTerm
from annotations.release.forms.known import ListsFileForm, MasterForm
from annotations.release.selectors import known as selectors
from annotations.release.services import known

router = ProjectRouter(tags=["Known identifiers"])
PATH = "/projects/{slug:slug}/known"
Upload = Annotated[KnownUpload, selectors.upload_for]
Person = Annotated[KnownPerson, selectors.person_for]


class MasterCounts(Schema):
    """What the project knows. `fields` counts the patients with a value of each field; `covered` notes have a patient
    of the master.
    """

    patients: int
    fields: dict[str, int]
    notes: int
    covered: int
    allowed: int
    denied: int


def without_digest(report: dict[str, Any]) -> dict[str, Any]:
    """A report without what says that the same file was uploaded before."""
    return {key: value for key, value in report.items() if key != "digest"}


class UploadItem(Answer):
    """A file that waits for confirmation. `report` has counts, names of columns and problems, never a value."""

    id: int
    format: str
    state: str
    created_at: datetime
    report: Annotated[dict[str, Any], read_as(dict, without_digest)]


class StagedMaster(Schema):
    """The upload, and the job that reads it. Import or discard the upload after that."""

    upload: int = Field(validation_alias="upload.pk")
    job: JobItem


class ImportedMaster(Schema):
    """Patients of the upload by what became of them, and notes whose patient is not in the master."""

    added: int
    changed: int
    unchanged: int
    notes_without_row: int


class PersonItem(Answer):
    """A patient of the master, with the names of the fields that have a value."""

    id: int
    patient_id: str
    fields: Annotated[list[str], read_as(int, selectors.names_of)]


class PersonValues(PersonItem):
    """A patient with the values of each field."""

    values: dict[str, Any]


class TermItem(Schema):
    """A term of the list `kind`, allow or deny. A denied term has the code of a label."""

    id: int
    kind: str
    term: str
    label: str


class NewTerms(Body):
    """Terms for the list `kind`. Denied terms need the code of a label. Case and accents don't matter."""

    kind: Literal["allow", "deny"]
    terms: list[str] = Field(min_length=1, max_length=20_000)
    label: str = Field("", max_length=60)


class FileFormat(Schema):
    """The format of the file: csv or fhir."""

    format: str = "csv"


@router.get(PATH, Can.MANAGE, response=MasterCounts)
def read_known(access: Access) -> selectors.MasterState:
    """Count what the project knows of its patients, and the terms of its lists."""
    return selectors.master_state(access.project)


@router.post(f"{PATH}/uploads", Can.MANAGE, response={202: StagedMaster})
@takes_uploads(Can.MANAGE)
def upload_master(
    request: ApiRequest, access: Access, options: Form[FileFormat], file: File[UploadedFile]
) -> known.StagedUpload:
    """Upload a patient master, CSV or FHIR. A job reads it; nothing of the master changes before it is imported."""
    wanted = check(MasterForm(options.dict(), request.FILES))
    return known.stage_master(
        project=access.project, content=wanted["file"], format=wanted["format"], actor=access.user
    )


@router.get(f"{PATH}/uploads", Can.MANAGE, response=list[UploadItem])
def list_uploads(access: Access) -> list[KnownUpload]:
    """List the uploads that wait for confirmation."""
    return list(selectors.uploads_of(access.project))


@router.post(f"{PATH}/uploads/{{int:known_upload}}/import", Can.MANAGE, response=ImportedMaster)
def import_master(access: Access, known_upload: Upload) -> known.MasterImportCounts:
    """Import an upload that was read. Patients of the master that it does not have stay as they are."""
    return known.import_upload(project=access.project, upload_id=known_upload.pk, actor=access.user)


@router.delete(f"{PATH}/uploads/{{int:known_upload}}", Can.MANAGE, response={204: None})
def discard_master(access: Access, known_upload: Upload) -> None:
    """Discard an upload. The patient master is unchanged."""
    known.discard_upload(project=access.project, upload_id=known_upload.pk)


@router.get(f"{PATH}/patients", Can.MANAGE, response=Page[PersonItem])
def list_known_people(request: ApiRequest, access: Access, paging: Query[Paging]) -> PageAnswer:
    """List the patients of the master, without values."""
    return paged_rows(request, paging, selectors.people_listed(access.project), PersonItem.model_validate)


@router.post(f"{PATH}/patients/{{int:known_person}}/show", Can.MANAGE, response=PersonValues)
def show_known_person(access: Access, known_person: Person) -> PersonValues:
    """Show the values of a patient. The audit log records it."""
    person = known.show_person(project=access.project, row=known_person, actor=access.user)
    if person is None:
        raise Http404("The master has no such patient.")
    return PersonValues.model_construct(**dict(PersonItem.model_validate(known_person)), values=person.as_dict())


@router.delete(f"{PATH}/patients/{{int:known_person}}", Can.MANAGE, response={204: None})
def delete_known_person(access: Access, known_person: int) -> None:
    """Delete a patient's known identifiers. The notes are unchanged."""
    if not known.delete_person(project=access.project, person_id=known_person, actor=access.user):
        raise Http404("The master has no such patient.")


@router.delete(f"{PATH}/patients", Can.MANAGE, response=Done)
def clear_known_people(access: Access) -> Done:
    """Delete the whole master, and uploads that wait."""
    return Done(changed=bool(known.clear_master(project=access.project, actor=access.user)))


@router.get(f"{PATH}/terms", Can.MANAGE, response=Page[TermItem])
def list_terms(
    request: ApiRequest, access: Access, paging: Query[Paging], kind: Literal["allow", "deny"] = "deny"
) -> PageAnswer:
    """List the terms of a list, in the order in which they were added."""

    def fetch(after: int | None, size: int) -> list[tuple[ListedTerm, str]]:
        return [(row, text) for row, text in selectors.terms_of(access.project, kind) if row.pk > (after or 0)][:size]

    def item(row: tuple[ListedTerm, str]) -> TermItem:
        return TermItem(id=row[0].pk, kind=row[0].kind, term=row[1], label=row[0].label)

    return paged(request, paging, fetch, item, lambda row: row[0].pk)


@router.post(f"{PATH}/terms", Can.MANAGE, response=known.AddedTerms)
def add_listed_terms(access: Access, body: NewTerms) -> known.AddedTerms:
    """Add terms to a list. A term that is on the list already gets the new label."""
    if any(len(term) > known.LONGEST or len(term.splitlines()) > 1 for term in body.terms):
        raise invalid(("terms", f"A term is one line of at most {known.LONGEST} characters."))
    with named({"terms": "terms", "label": "label"}):
        terms = [(term, body.label) for term in body.terms]
        return known.add_terms(project=access.project, kind=body.kind, terms=terms, actor=access.user)


@router.delete(f"{PATH}/terms/{{int:term}}", Can.MANAGE, response={204: None})
def remove_listed_term(access: Access, term: int) -> None:
    """Remove a term from its list."""
    if not known.remove_term(project=access.project, term_id=term, actor=access.user):
        raise Http404("This term does not exist.")


@router.post(f"{PATH}/lists", Can.MANAGE, response=dict[str, known.AddedTerms])
@takes_uploads(Can.MANAGE)
def import_listed_terms(request: ApiRequest, access: Access, file: File[UploadedFile]) -> dict[str, known.AddedTerms]:
    """Add the terms of a CSV file with the columns list, term and label. With a wrong line, nothing is added."""
    wanted = check(ListsFileForm({}, request.FILES))
    try:
        return known.import_lists(project=access.project, content=wanted["file"], actor=access.user)
    except ServiceError as error:
        raise invalid(("file", str(error))) from error


@router.get(f"{PATH}/lists.csv", Can.MANAGE, response={200: None}, openapi_extra=sends("text/csv"))
def export_listed_terms(access: Access) -> HttpResponse:
    """Download both lists as CSV. The audit log records it."""
    lines = known.export_lists(project=access.project, actor=access.user)
    return HttpResponse("".join(lines), content_type="text/csv; charset=utf-8")
