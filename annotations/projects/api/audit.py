"""The route of the audit log."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Self

from django.http import HttpResponseBase
from django.utils.translation import gettext as _
from ninja import Field, Query, Router, Schema

from annotations.core.access import Can
from annotations.core.api.paging import Page, Paging, paged
from annotations.core.api.problems import invalid
from annotations.core.api.requests import ApiRequest, enter
from annotations.core.events import sentences
from annotations.models import Project
from annotations.projects.selectors.audit import AuditLine, Filter, audit_page, people

router = Router(tags=["Audit log"])


class AuditEntry(Schema):
    """An event. `verb` names the kind of act, `what` and `details` say it in words. `note` is null if it was erased."""

    id: int
    at: datetime
    who: str
    verb: str
    what: str
    note: int | None
    note_name: str
    details: str

    @classmethod
    def of(cls, line: AuditLine) -> Self:
        return cls(
            id=line.pk, at=line.at, who=line.who, verb=line.verb, what=line.what, note=line.note,
            note_name=line.note_name, details=line.details,
        )  # fmt: skip


class AuditFilters(Schema):
    """Filters: a kind of act, and who acted."""

    verb: str = Field("", max_length=60)
    person: str = Field("", max_length=150, description="User name of a current or former member.")
    command_line: bool = Field(False, description="Only what commands on the server did.")


@router.get("/projects/{slug:slug}/audit", response=Page[AuditEntry])
def list_events(
    request: ApiRequest, slug: str, paging: Query[Paging], wanted: Query[AuditFilters]
) -> dict[str, Any] | HttpResponseBase:
    """List what was done in a project, the newest first. No entry holds text of notes."""
    access = enter(request, slug, Can.SEE_AUDIT)
    chosen = _filter(access.project, wanted)

    def fetch(after: int | None, size: int) -> Sequence[AuditLine]:
        return _lines(access.project, chosen, after, size)

    return paged(request, paging, fetch, AuditEntry.of, lambda line: line.pk)


def _filter(project: Project, wanted: AuditFilters) -> Filter:
    if wanted.verb and wanted.verb not in sentences():
        raise invalid(("verb", _("There is no such kind of act. Take one that an entry of this list has.")))
    if wanted.command_line:
        return Filter(verb=wanted.verb, person=0)
    person = next((pk for pk, name in people(project) if name == wanted.person), None)
    if wanted.person and person is None:
        raise invalid(("person", _("The project has no current or former member with this user name.")))
    return Filter(verb=wanted.verb, person=person)


def _lines(project: Project, wanted: Filter, after: int | None, size: int) -> list[AuditLine]:
    """Return as many lines after an event as there are, over several windows of the filter if need be."""
    lines: list[AuditLine] = []
    while True:
        page = audit_page(project, wanted, older_than=after, size=size - len(lines))
        lines += page.lines
        after = page.stopped
        if after is None or len(lines) >= size:
            return lines
