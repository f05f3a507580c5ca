"""Routes of assignments: list, assign by name or by the project's rule, take notes back."""

from datetime import datetime
from typing import Any, Self

from django.http import HttpResponseBase
from ninja import Field, Query, Router, Schema

from annotations.core.access import Can
from annotations.core.api.paging import Page, Paging, paged_rows
from annotations.core.api.problems import check, named
from annotations.core.api.requests import ApiRequest, enter
from annotations.core.api.schemas import Body
from annotations.models import Assignment
from annotations.projects.forms.settings import AssignForm
from annotations.projects.services.assigning import annotators_of, assign_list, fill_up, take_back

router = Router(tags=["Assignments"])
PATH = "/projects/{slug:slug}/assignments"


class AssignmentItem(Schema):
    """A note assigned to a person. `state` is open, done or released."""

    id: int
    note: int
    name: str
    username: str
    state: str
    assigned_at: datetime

    @classmethod
    def of(cls, row: Assignment) -> Self:
        return cls(
            id=row.pk, note=row.document_id, name=row.document.name, username=row.user.username, state=row.state,
            assigned_at=row.created_at,
        )  # fmt: skip


class NewAssignments(Body):
    """The user name of an annotator, and names of notes."""

    annotator: str = Field(max_length=150)
    names: list[str] = Field(min_length=1, max_length=5000)


class AssignedNotes(Schema):
    """How many notes were assigned."""

    assigned: int


@router.get(PATH, response=Page[AssignmentItem])
def list_assignments(request: ApiRequest, slug: str, paging: Query[Paging]) -> dict[str, Any] | HttpResponseBase:
    """List who has which note, also notes that are done or were released."""
    access = enter(request, slug, Can.MANAGE)
    rows = Assignment.objects.filter(project=access.project).select_related("user", "document").defer("document__text")
    return paged_rows(request, paging, rows, AssignmentItem.of)


@router.post(PATH, response=AssignedNotes)
def assign_by_name(request: ApiRequest, slug: str, body: NewAssignments) -> AssignedNotes:
    """Assign notes to an annotator. If a name is unknown, nothing is assigned."""
    access = enter(request, slug, Can.MANAGE)
    annotators = annotators_of(access.project)
    chosen = next((one.pk for one in annotators if one.username == body.annotator), "none")
    form = AssignForm({"annotator": chosen, "names": "\n".join(body.names)}, annotators=annotators)
    wanted = check(form)
    with named({"note": "names", "member": "annotator"}):
        assign_list(project=access.project, user=wanted["annotator"], names=wanted["names"], actor=access.user)
    return AssignedNotes(assigned=len(wanted["names"]))


@router.post(f"{PATH}/fill", response=AssignedNotes)
def fill_assignments(request: ApiRequest, slug: str) -> AssignedNotes:
    """Add the assignments of existing notes that are missing by the project's rule."""
    access = enter(request, slug, Can.MANAGE)
    return AssignedNotes(assigned=fill_up(project=access.project, actor=access.user))


@router.post(f"{PATH}/take-back", response=AssignedNotes)
def take_notes_back(request: ApiRequest, slug: str) -> AssignedNotes:
    """Take back one's own released notes, except those that went to others."""
    access = enter(request, slug, Can.ANNOTATE)
    return AssignedNotes(assigned=take_back(project=access.project, user=access.user))
