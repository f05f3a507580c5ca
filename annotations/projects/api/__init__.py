"""Routes of projects: list, create, read, settings, archive and restore."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.utils.translation import gettext as _
from ninja import Field, Query, Schema
from ninja.responses import Status

from annotations.core.access import Access, Can, may_create_projects
from annotations.core.api import routes
from annotations.core.api.answers import check_if_match, unless_stale
from annotations.core.api.paging import Page, PageAnswer, Paging, as_is, paged, paged_rows
from annotations.core.services import sentences
from annotations.models import Assignment, Membership, Project
from annotations.projects.forms.settings import AssignForm, GuidelinesForm, ProjectForm, SettingsForm, settings_of
from annotations.projects.selectors.members import AuditLine, Filter, audit_page, people
from annotations.projects.selectors.projects import guide_of, runs_with_notes
from annotations.projects.services import projects
from annotations.projects.services.assigning import annotators_of, assign_list, fill_up, start_pilot, take_back

router = routes.ProjectRouter(tags=["Projects"])


class ProjectItem(routes.Answer):
    """A project with the person's role in it. `slug` is its name in addresses."""

    slug: str = Field(validation_alias="project.slug")
    name: str = Field(validation_alias="project.name")
    language: str = Field(validation_alias="project.language")
    role: str
    archived: routes.IsSet = Field(validation_alias="project.archived_at")
    created_at: datetime = Field(validation_alias="project.created_at")


class NewProject(routes.Body):
    """A new project. Without `slug`, its short name in addresses is made from its name."""

    name: str
    label_set: str
    language: str = ""
    slug: Annotated[str, Field(pattern="^[a-z0-9][a-z0-9_-]*$", max_length=60)] | None = None


class ProjectSettings(routes.Body):
    """The settings of a project. `seed_from` is the id of the run whose spans annotators begin from.

    `second_factor`: people must show a second factor to open the project. Settings that a change leaves out stay.
    """

    name: str = ""
    language: str = ""
    distribution: str = ""
    annotators_per_note: int = 0
    notes_per_annotator: int | None = None
    idle_days: int | None = None
    seed_from: int | None = None
    candidates: bool = False
    unanimous_passes: bool = False
    anonymous_adjudication: bool = False
    show_outcome: bool = False
    second_review: str = ""
    planted_share: int = 0
    runs_decide: bool = False
    second_factor: bool = False
    mcp_clients: bool = False


@router.get("/projects", response=Page[ProjectItem])
def list_projects(request: routes.ApiRequest, paging: Query[Paging]) -> PageAnswer:
    """List the person's projects in the order in which the person joined them."""
    members = Membership.objects.filter(user=request.user, active=True).select_related("project")
    if request.token.project_id is not None:
        members = members.filter(project=request.token.project_id)
    return paged_rows(request, paging, members, ProjectItem.model_validate)


def require_creating_projects(request: routes.ApiRequest) -> None:
    """Raise Problem (403) or PermissionDenied unless the token may create projects, and its person, too."""
    routes.require_scope(request, routes.Scope.MANAGE)
    routes.require_any_project(request)
    if not may_create_projects(request.user):
        raise PermissionDenied("Only administrators and managers can create projects.")


@router.post("/projects", response={201: ProjectItem})
def new_project(request: routes.ApiRequest, body: NewProject) -> Status[ProjectItem]:
    """Create a project with a copy of a shipped label set. The person becomes its manager."""
    require_creating_projects(request)
    wanted = routes.check(ProjectForm(body.dict(), label_sets=projects.shipped_label_sets()))
    short = "name" if body.slug is None else "slug"
    with routes.named({"name": "name", "slug": short, "exists": short, "label-set": "label_set"}):
        made = projects.create_project(
            name=wanted["name"], label_set_key=wanted["label_set"], language=wanted["language"], slug=body.slug,
            manager=request.user, actor=request.user,
        )  # fmt: skip
    return Status(201, ProjectItem.model_validate(made.memberships.get(user=request.user)))


@router.get("/projects/{slug:slug}", response=ProjectItem)
def read_project(request: routes.ApiRequest, slug: str) -> ProjectItem:
    """Read a project."""
    return ProjectItem.model_validate(routes.enter(request, slug).membership)


@router.get("/projects/{slug:slug}/settings", response=ProjectSettings)
def read_settings(request: routes.ApiRequest, slug: str) -> dict[str, Any]:
    """Read the settings of a project."""
    return settings_of(routes.enter(request, slug, Can.ARCHIVE).project)


@router.patch("/projects/{slug:slug}/settings", Can.MANAGE, response=ProjectSettings)
def change_settings(access: Access, body: ProjectSettings) -> dict[str, Any]:
    """Change some settings of a project."""
    data = settings_of(access.project) | body.dict(exclude_unset=True)
    wanted = routes.check(SettingsForm(data, runs=runs_with_notes(access.project)))
    with routes.named({field: field for field in wanted}):
        return settings_of(projects.update_project(project=access.project, actor=access.user, **wanted))


@router.post("/projects/{slug:slug}/archive", Can.ARCHIVE, response=routes.Done)
def archive_project_now(access: Access) -> routes.Done:
    """Archive a project, so that nobody can change it."""
    return routes.Done(changed=projects.archive_project(project=access.project, actor=access.user))


@router.post("/projects/{slug:slug}/restore", Can.ARCHIVE, response=routes.Done)
def restore_project_now(access: Access) -> routes.Done:
    """Make an archived project open again."""
    return routes.Done(changed=projects.restore_project(project=access.project, actor=access.user))


# Routes of assignments: list, assign by name or by the project's rule, take notes back.


assignments_router = routes.ProjectRouter(tags=["Assignments"])
ASSIGNMENTS = "/projects/{slug:slug}/assignments"


class AssignmentItem(routes.Answer):
    """A note assigned to a person. `state` is open, done or released."""

    id: int = Field(validation_alias="pk")
    note: int = Field(validation_alias="document_id")
    name: str = Field(validation_alias="document.name")
    username: str = Field(validation_alias="user.username")
    state: str
    assigned_at: datetime = Field(validation_alias="created_at")


class NewAssignments(routes.Body):
    """The user name of an annotator, and names of notes."""

    annotator: str = Field(max_length=150)
    names: list[str] = Field(min_length=1, max_length=5000)


class AssignedNotes(Schema):
    """How many notes were assigned."""

    assigned: int


@assignments_router.get(ASSIGNMENTS, Can.MANAGE, response=Page[AssignmentItem])
def list_assignments(request: routes.ApiRequest, access: Access, paging: Query[Paging]) -> PageAnswer:
    """List who has which note, also notes that are done or were released."""
    rows = Assignment.objects.filter(project=access.project).select_related("user", "document").defer("document__text")
    return paged_rows(request, paging, rows, AssignmentItem.model_validate)


@assignments_router.post(ASSIGNMENTS, Can.MANAGE, response=AssignedNotes)
def assign_by_name(access: Access, body: NewAssignments) -> AssignedNotes:
    """Assign notes to an annotator. If a name is unknown, nothing is assigned."""
    annotators = annotators_of(access.project)
    chosen = next((one.pk for one in annotators if one.username == body.annotator), "none")
    form = AssignForm({"annotator": chosen, "names": "\n".join(body.names)}, annotators=annotators)
    wanted = routes.check(form)
    with routes.named({"note": "names", "member": "annotator"}):
        assign_list(project=access.project, user=wanted["annotator"], names=wanted["names"], actor=access.user)
    return AssignedNotes(assigned=len(wanted["names"]))


@assignments_router.post(f"{ASSIGNMENTS}/fill", Can.MANAGE, response=AssignedNotes)
def fill_assignments(access: Access) -> AssignedNotes:
    """Add the assignments of existing notes that are missing by the project's rule."""
    return AssignedNotes(assigned=fill_up(project=access.project, actor=access.user))


@assignments_router.post(f"{ASSIGNMENTS}/pilot", Can.MANAGE, response=AssignedNotes)
def begin_pilot(access: Access) -> AssignedNotes:
    """Assign the same notes, drawn at random, to all annotators, if nobody has a note yet. Says how many notes."""
    return AssignedNotes(assigned=start_pilot(project=access.project, actor=access.user))


@assignments_router.post(f"{ASSIGNMENTS}/take-back", Can.ANNOTATE, response=AssignedNotes)
def take_notes_back(access: Access) -> AssignedNotes:
    """Take back one's own released notes, except those that went to others."""
    return AssignedNotes(assigned=take_back(project=access.project, user=access.user))


# The route of the audit log.


audit_router = routes.ProjectRouter(tags=["Audit log"])


class AuditFilters(Schema):
    """Filters: a kind of act, and who acted."""

    verb: str = Field("", max_length=60)
    person: str = Field("", max_length=150, description="User name of a current or former member.")
    command_line: bool = Field(False, description="Only what commands on the server did.")


@audit_router.get("/projects/{slug:slug}/audit", Can.SEE_AUDIT, response=Page[AuditLine])
def list_events(
    request: routes.ApiRequest, access: Access, paging: Query[Paging], wanted: Query[AuditFilters]
) -> PageAnswer:
    """List what was done in a project, the newest first. No entry holds text of notes."""
    chosen = _filter(access.project, wanted)

    def fetch(after: int | None, size: int) -> Sequence[AuditLine]:
        return audit_page(access.project, chosen, older_than=after, size=size).lines

    return paged(request, paging, fetch, as_is, lambda line: line.id)


def _filter(project: Project, wanted: AuditFilters) -> Filter:
    if wanted.verb and wanted.verb not in sentences():
        raise routes.invalid(("verb", _("There is no such type of event. Choose one that occurs in this list.")))
    if wanted.command_line:
        return Filter(verb=wanted.verb, person=0)
    person = next((pk for pk, name in people(project) if name == wanted.person), None)
    if wanted.person and person is None:
        raise routes.invalid(("person", _("The project has no current or former member with this user name.")))
    return Filter(verb=wanted.verb, person=person)


# Routes of the annotation guidelines, which every member reads and managers write.


guidelines_router = routes.ProjectRouter(tags=["Guidelines"])
GUIDELINES = "/projects/{slug:slug}/guidelines"


class Guidelines(routes.Answer):
    """The guidelines in Markdown. Every change makes another version; version 0 was never changed."""

    text: str
    version: int
    changed_at: datetime | None = Field(validation_alias="changed")


class GuidelinesText(routes.Body):
    """The whole guidelines in Markdown."""

    text: str


@guidelines_router.get(GUIDELINES, response=Guidelines)
def read_guidelines(request: routes.ApiRequest, response: HttpResponse, slug: str) -> Guidelines:
    """Read the guidelines. The ETag is their version."""
    return _said(response, routes.enter(request, slug).project)


@guidelines_router.patch(GUIDELINES, Can.MANAGE, response=Guidelines)
def write_guidelines(
    request: routes.ApiRequest, response: HttpResponse, access: Access, body: GuidelinesText
) -> Guidelines:
    """Replace the text of the guidelines. The same text again makes no other version."""
    seen = access.project.guidelines_version
    exact = check_if_match(request, version_tag(access.project))
    wanted = routes.check(GuidelinesForm({"text": body.text, "seen_version": seen}))
    with unless_stale(lambda: version_tag(Project.objects.get(pk=access.project.pk))):
        fresh = projects.set_guidelines(
            project=access.project, text=wanted["text"], actor=access.user, seen_version=seen if exact else None
        )
    return _said(response, fresh)


def _said(response: HttpResponse, project: Project) -> Guidelines:
    response["ETag"] = version_tag(project)
    return Guidelines.model_validate(guide_of(project))


def version_tag(project: Project) -> str:
    """Return the ETag of the guidelines."""
    return f'"{project.guidelines_version}"'
