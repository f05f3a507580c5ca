"""Routes of the annotation guidelines, which every member reads and managers write."""

from datetime import datetime
from typing import Self

from django.http import HttpResponse
from ninja import Router, Schema

from annotations.core.access import Can
from annotations.core.api.etags import matched, outdated
from annotations.core.api.problems import check
from annotations.core.api.requests import ApiRequest, enter
from annotations.core.api.schemas import Body
from annotations.core.errors import ServiceError
from annotations.models import Project
from annotations.projects.forms.settings import GuidelinesForm
from annotations.projects.selectors.projects import guide_of
from annotations.projects.services.projects import set_guidelines

router = Router(tags=["Guidelines"])
PATH = "/projects/{slug:slug}/guidelines"


class Guidelines(Schema):
    """The guidelines in Markdown. Every change makes another version; version 0 was never changed."""

    text: str
    version: int
    changed_at: datetime | None

    @classmethod
    def of(cls, project: Project) -> Self:
        guide = guide_of(project)
        return cls(text=guide.text, version=guide.version, changed_at=guide.changed)


class GuidelinesText(Body):
    """The whole guidelines in Markdown."""

    text: str


@router.get(PATH, response=Guidelines)
def read_guidelines(request: ApiRequest, response: HttpResponse, slug: str) -> Guidelines:
    """Read the guidelines. The ETag is their version."""
    return _said(response, enter(request, slug).project)


@router.patch(PATH, response=Guidelines)
def write_guidelines(request: ApiRequest, response: HttpResponse, slug: str, body: GuidelinesText) -> Guidelines:
    """Replace the text of the guidelines. The same text again makes no other version."""
    access = enter(request, slug, Can.MANAGE)
    seen = access.project.guidelines_version
    exact = matched(request, version_tag(access.project))
    wanted = check(GuidelinesForm({"text": body.text, "seen_version": seen}))
    try:
        fresh = set_guidelines(
            project=access.project, text=wanted["text"], actor=access.user, seen_version=seen if exact else None
        )
    except ServiceError as error:
        if error.code != "stale":
            raise
        access.project.refresh_from_db()
        raise outdated(version_tag(access.project)) from error
    return _said(response, fresh)


def _said(response: HttpResponse, project: Project) -> Guidelines:
    response["ETag"] = version_tag(project)
    return Guidelines.of(project)


def version_tag(project: Project) -> str:
    """Return the ETag of the guidelines."""
    return f'"{project.guidelines_version}"'
