"""Routes that delete: an archived project, one note. And the metadata of a note."""

from ninja import Field, Router
from ninja.responses import Status

from annotations.core.access import Can, note_for
from annotations.core.api.problems import check, named
from annotations.core.api.requests import ApiRequest, enter
from annotations.core.api.schemas import Body, Done
from annotations.exchange.services.sources import NoteRow
from annotations.ops.forms import DeleteProjectForm
from annotations.ops.services.deleting import delete_project
from annotations.ops.services.erasing import delete_note, set_metadata, set_patient_ids

router = Router(tags=["Deleting and metadata"])


class ProjectName(Body):
    """The name of the project, exactly as it is shown, so that nobody deletes another one by mistake."""

    name: str


class Metadata(Body):
    """What is known about a note. An empty field changes nothing."""

    patient_id: str = Field("", max_length=80)
    note_type: str = Field("", max_length=80)
    site: str = Field("", max_length=80)


@router.delete("/projects/{slug:slug}", response={204: None})
def remove_project(request: ApiRequest, slug: str, body: ProjectName) -> Status[None]:
    """Delete an archived project with everything in it. Nobody can undo this."""
    access = enter(request, slug, Can.ARCHIVE)
    wanted = check(DeleteProjectForm(body.dict()))
    with named({"name": "name"}):
        delete_project(project=access.project, name=wanted["name"], actor=access.user)
    return Status(204, None)


@router.delete("/projects/{slug:slug}/notes/{int:note}", response={204: None})
def remove_note(request: ApiRequest, slug: str, note: int) -> Status[None]:
    """Delete a note with everything made from it. Nobody can undo this."""
    access = enter(request, slug, Can.MANAGE)
    delete_note(project=access.project, note=note_for(access, note).pk, actor=access.user)
    return Status(204, None)


@router.patch("/projects/{slug:slug}/notes/{int:note}", response=Done)
def change_metadata(request: ApiRequest, slug: str, note: int, body: Metadata) -> Done:
    """Set the patient, the type and the site of a note."""
    access = enter(request, slug, Can.MANAGE)
    name = note_for(access, note).name
    row = NoteRow(body.patient_id, body.note_type, body.site)
    patients = set_patient_ids(project=access.project, mapping={name: row.patient}, actor=access.user)
    others = set_metadata(project=access.project, rows={name: row}, actor=access.user)
    return Done(changed=bool(patients["changed"] or others["changed"]))
