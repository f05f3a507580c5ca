"""Routes of the amendments to the guidelines, which separate the rounds of a project."""

from datetime import datetime
from functools import partial
from typing import Any, Self

from django.http import HttpResponse, HttpResponseBase
from django.utils.translation import gettext as _
from ninja import Field, Query, Router, Schema
from ninja.responses import Status

from annotations.agreement.forms import AmendmentForm
from annotations.agreement.services.amending import amend
from annotations.core.access import Access, Can, note_for
from annotations.core.api.etags import matched, outdated
from annotations.core.api.paging import Page, Paging, paged_rows
from annotations.core.api.problems import check, invalid, named
from annotations.core.api.requests import ApiRequest, enter
from annotations.core.api.schemas import Body
from annotations.core.errors import ServiceError
from annotations.models import Amendment, Document
from annotations.projects.api.guidelines import version_tag
from annotations.text.names import MAX_ID, MAX_OFFSET

router = Router(tags=["Guidelines"])
PATH = "/projects/{slug:slug}/guidelines/amendments"


class AmendmentItem(Schema):
    """A rule that was added to the guidelines, and so made `version` of them.

    `note`, `start` and `end` are the location that led to it, only for people who may read every note.
    """

    number: int
    text: str
    version: int
    by: str | None
    at: datetime
    note: int | None = None
    start: int | None = None
    end: int | None = None

    @classmethod
    def of(cls, row: Amendment, *, located: bool) -> Self:
        place = {"note": row.document_id, "start": row.start, "end": row.end} if located else {}
        return cls(
            number=row.number, text=row.text, version=row.guidelines_version, at=row.at,
            by=row.by.username if row.by else None, **place,
        )  # fmt: skip


class NewAmendment(Body):
    """A rule in Markdown, and the location (code points, end-exclusive) that led to it, if any."""

    text: str
    note: int | None = Field(None, ge=0, le=MAX_ID)
    start: int | None = Field(None, ge=0, le=MAX_OFFSET)
    end: int | None = Field(None, ge=0, le=MAX_OFFSET)


@router.get(PATH, response=Page[AmendmentItem])
def list_amendments(request: ApiRequest, slug: str, paging: Query[Paging]) -> dict[str, Any] | HttpResponseBase:
    """List the amendments, the newest first."""
    access = enter(request, slug)
    rows = Amendment.objects.filter(project=access.project).select_related("by")
    item = partial(AmendmentItem.of, located=access.can(Can.READ_NOTES))
    return paged_rows(request, paging, rows, item, newest_first=True, by="number")


@router.post(PATH, response={201: AmendmentItem})
def new_amendment(request: ApiRequest, response: HttpResponse, slug: str, body: NewAmendment) -> Status[AmendmentItem]:
    """Add a rule at the end of the guidelines, and begin another round. If-Match is the ETag of the guidelines."""
    access = enter(request, slug, Can.MANAGE)
    matched(request, version_tag(access.project))
    wanted = check(AmendmentForm({"text": body.text, "seen_version": access.project.guidelines_version}))
    location = _location(access, body)
    try:
        with named({"text": "text"}):
            made = amend(
                project=access.project, text=wanted["text"], actor=access.user, location=location,
                seen_version=wanted["seen_version"],
            )  # fmt: skip
    except ServiceError as error:
        if error.code != "stale":
            raise
        access.project.refresh_from_db()
        raise outdated(version_tag(access.project)) from error
    access.project.refresh_from_db()
    response["ETag"] = version_tag(access.project)
    return Status(201, AmendmentItem.of(made, located=True))


def _location(access: Access, body: NewAmendment) -> tuple[Document, int, int] | None:
    if body.note is None:
        return None
    note = note_for(access, body.note)
    if body.start is None or body.end is None or not body.start < body.end <= note.length:
        raise invalid(("start", _("Give start and end of a location in the note.")))
    return note, body.start, body.end
