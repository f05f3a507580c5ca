"""Routes of the guidance for refining agents (skills), which managers read and write."""

from datetime import datetime

from django.http import Http404, HttpResponse
from ninja import Field

from annotations.core.access import Access, Can
from annotations.core.api.answers import check_if_match, outdated
from annotations.core.api.routes import Answer, ApiRequest, Body, ProjectRouter, Username, invalid, named
from annotations.core.services import ServiceError
from annotations.models import Project
from models_runtime.refining.selectors import SkillItem, SkillOut, described, known, present, skill_versions
from models_runtime.refining.services.refining import set_skill

router = ProjectRouter(tags=["Guidelines"])
PATH = "/projects/{slug:slug}/skills"
ONE = f"{PATH}/{{slug:skill}}"
FIELDS = {"name": "name", "labels": "labels", "text": "text"}
MOST_LABELS = 1_000


class SkillVersion(Answer):
    """One of the project's own texts."""

    version: int
    labels: list[str]
    text: str
    created_by: Username
    created_at: datetime


class SkillText(Body):
    """A field that is missing stays as it is. An empty text switches the guidance off."""

    labels: list[str] | None = Field(None, max_length=MOST_LABELS)
    text: str | None = None


class NewSkill(Body):
    """The name has a-z, 0-9 and hyphens, and begins with a letter. `labels` are codes, or “*” for all."""

    name: str = Field(max_length=40)
    labels: list[str] = Field(max_length=MOST_LABELS)
    text: str = Field(min_length=1)


@router.get(PATH, Can.MANAGE, response=list[SkillItem])
def list_skills(access: Access) -> list[SkillItem]:
    """List the guidance for agents: the shipped texts and the project's own."""
    return described(access.project)


@router.post(PATH, Can.MANAGE, response={201: SkillOut})
def add_skill(response: HttpResponse, access: Access, body: NewSkill) -> SkillOut:
    """Add guidance under a new name."""
    if body.name in known(access.project):
        raise invalid(("name", "There is guidance with this name already. Change it, or choose another name."))
    with named({**FIELDS, "stale": "name"}):
        set_skill(
            project=access.project, name=body.name, labels=body.labels, text=body.text, actor=access.user,
            seen_version=0,
        )  # fmt: skip
    return _said(response, access.project, body.name)


@router.get(ONE, Can.MANAGE, response=SkillOut)
def read_skill(response: HttpResponse, access: Access, skill: str) -> SkillOut:
    """Read guidance. The ETag is its version."""
    return _said(response, access.project, _known(access.project, skill))


@router.get(f"{ONE}/versions", Can.MANAGE, response=list[SkillVersion])
def list_skill_versions(access: Access, skill: str) -> list[SkillVersion]:
    """List the project's own texts under this name, the newest first; none if only the shipped text is used."""
    name = _known(access.project, skill)
    return [SkillVersion.from_orm(row) for row in skill_versions(access.project, name)]


@router.patch(ONE, Can.MANAGE, response=SkillOut)
def write_skill(request: ApiRequest, response: HttpResponse, access: Access, skill: str, body: SkillText) -> SkillOut:
    """Save guidance as a new version. Without a change, the version stays. If-Match is the ETag of what was read."""
    now = present(access.project, _known(access.project, skill))
    exact = check_if_match(request, _tag(now.version))
    try:
        with named(FIELDS):
            set_skill(
                project=access.project, name=skill, actor=access.user, seen_version=now.version if exact else None,
                labels=now.labels if body.labels is None else body.labels,
                text=now.text if body.text is None else body.text,
            )  # fmt: skip
    except ServiceError as error:
        if error.code != "stale":
            raise
        raise outdated(_tag(present(access.project, skill).version)) from error
    return _said(response, access.project, skill)


def _known(project: Project, name: str) -> str:
    if name not in known(project):
        raise Http404("There is no guidance with this name.")
    return name


def _said(response: HttpResponse, project: Project, name: str) -> SkillOut:
    found = present(project, name)
    response["ETag"] = _tag(found.version)
    return found


def _tag(version: int) -> str:
    return f'"{version}"'
