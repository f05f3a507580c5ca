"""Routes of projects: list, create, read, settings, archive and restore."""

from datetime import datetime
from typing import Annotated, Any, Self

from django.core.exceptions import PermissionDenied
from django.http import HttpResponseBase
from ninja import Field, Query, Router, Schema
from ninja.responses import Status

from annotations.core.access import Can, may_create_projects
from annotations.core.api.paging import Page, Paging, paged_rows
from annotations.core.api.problems import check, named
from annotations.core.api.requests import ApiRequest, Scope, enter, require_any_project, require_scope
from annotations.core.api.schemas import Body, Done
from annotations.models import Membership, Project
from annotations.projects.forms.settings import ProjectForm, SettingsForm
from annotations.projects.selectors.projects import runs_with_notes
from annotations.projects.services.projects import (
    SETTINGS,
    archive_project,
    create_project,
    restore_project,
    shipped_label_sets,
    update_project,
)

router = Router(tags=["Projects"])


class ProjectItem(Schema):
    """A project with the person's role in it. `slug` is its name in addresses."""

    slug: str
    name: str
    language: str
    role: str
    archived: bool
    created_at: datetime

    @classmethod
    def of(cls, member: Membership) -> Self:
        project = member.project
        return cls(
            slug=project.slug, name=project.name, language=project.language, role=member.role,
            archived=project.archived_at is not None, created_at=project.created_at,
        )  # fmt: skip


class NewProject(Body):
    """A new project. Without `slug`, its short name in addresses is made from its name."""

    name: str
    label_set: str
    language: str = ""
    slug: Annotated[str, Field(pattern="^[a-z0-9][a-z0-9_-]*$", max_length=60)] | None = None


class ProjectSettings(Schema):
    """The settings of a project. `seed_from` is the id of the run whose spans annotators begin from.

    `second_factor`: people must show a second factor to open the project.
    """

    name: str
    language: str
    distribution: str
    annotators_per_note: int
    notes_per_annotator: int | None
    idle_days: int | None
    seed_from: int | None
    unanimous_passes: bool
    anonymous_adjudication: bool
    show_outcome: bool
    second_review: str
    planted_share: int
    second_factor: bool
    mcp_clients: bool

    @classmethod
    def of(cls, project: Project) -> Self:
        return cls(**_values(project))


class ChangedSettings(Body):
    """The settings to change; the others stay."""

    name: str = ""
    language: str = ""
    distribution: str = ""
    annotators_per_note: int = 0
    notes_per_annotator: int | None = None
    idle_days: int | None = None
    seed_from: int | None = None
    unanimous_passes: bool = False
    anonymous_adjudication: bool = False
    show_outcome: bool = False
    second_review: str = ""
    planted_share: int = 0
    second_factor: bool = False
    mcp_clients: bool = False


def _values(project: Project) -> dict[str, Any]:
    values = {field: getattr(project, field) for field in SETTINGS - {"seed_from"}}
    return values | {"seed_from": project.seed_from_id}


@router.get("/projects", response=Page[ProjectItem])
def list_projects(request: ApiRequest, paging: Query[Paging]) -> dict[str, Any] | HttpResponseBase:
    """List the person's projects in the order in which the person joined them."""
    members = Membership.objects.filter(user=request.user, active=True).select_related("project")
    if request.token.project_id is not None:
        members = members.filter(project=request.token.project_id)
    return paged_rows(request, paging, members, ProjectItem.of)


@router.post("/projects", response={201: ProjectItem})
def new_project(request: ApiRequest, body: NewProject) -> Status[ProjectItem]:
    """Create a project with a copy of a shipped label set. The person becomes its manager."""
    require_scope(request, Scope.MANAGE)
    require_any_project(request)
    if not may_create_projects(request.user):
        raise PermissionDenied("Only administrators and managers can create projects.")
    wanted = check(ProjectForm(body.dict(), label_sets=shipped_label_sets()))
    short = "name" if body.slug is None else "slug"
    with named({"name": "name", "slug": short, "exists": short, "label-set": "label_set"}):
        made = create_project(
            name=wanted["name"], label_set_key=wanted["label_set"], language=wanted["language"], slug=body.slug,
            manager=request.user, actor=request.user,
        )  # fmt: skip
    return Status(201, ProjectItem.of(made.memberships.get(user=request.user)))


@router.get("/projects/{slug:slug}", response=ProjectItem)
def read_project(request: ApiRequest, slug: str) -> ProjectItem:
    """Read a project."""
    return ProjectItem.of(enter(request, slug).membership)


@router.get("/projects/{slug:slug}/settings", response=ProjectSettings)
def read_settings(request: ApiRequest, slug: str) -> ProjectSettings:
    """Read the settings of a project."""
    return ProjectSettings.of(enter(request, slug, Can.ARCHIVE).project)


@router.patch("/projects/{slug:slug}/settings", response=ProjectSettings)
def change_settings(request: ApiRequest, slug: str, body: ChangedSettings) -> ProjectSettings:
    """Change some settings of a project."""
    access = enter(request, slug, Can.MANAGE)
    data = _values(access.project) | body.dict(exclude_unset=True)
    wanted = check(SettingsForm(data, runs=runs_with_notes(access.project)))
    with named({field: field for field in SETTINGS}):
        return ProjectSettings.of(update_project(project=access.project, actor=access.user, **wanted))


@router.post("/projects/{slug:slug}/archive", response=Done)
def archive_project_now(request: ApiRequest, slug: str) -> Done:
    """Archive a project, so that nobody can change it."""
    access = enter(request, slug, Can.ARCHIVE)
    return Done(changed=archive_project(project=access.project, actor=access.user))


@router.post("/projects/{slug:slug}/restore", response=Done)
def restore_project_now(request: ApiRequest, slug: str) -> Done:
    """Make an archived project open again."""
    access = enter(request, slug, Can.ARCHIVE)
    return Done(changed=restore_project(project=access.project, actor=access.user))
