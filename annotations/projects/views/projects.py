"""List of the user's projects, new project, and overview of a project."""

from datetime import timedelta

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotations.core import overview
from annotations.core.access import Access, Can, enter, may_create_projects, require
from annotations.core.errors import ServiceError
from annotations.core.forms import add_error
from annotations.core.requests import Request
from annotations.models import Project
from annotations.projects.forms.projects import ProjectForm
from annotations.projects.selectors.activity import Activity, activity
from annotations.projects.selectors.projects import AuthorProgress, is_large, my_projects, tally
from annotations.projects.services.projects import create_project, shipped_label_sets

DEFAULT_LABEL_SET = "i2b2-2014"
# A second click on "Create" within this time counts as a double click.
DOUBLE_CLICK = timedelta(minutes=1)


@require_safe
def projects(request: Request) -> HttpResponse:
    """The user's projects. Archived ones are listed apart, below the others."""
    found = my_projects(request.user)
    lines = [line for line in found if not line.closed]
    parts = [(archived, [line for line in lines if line.archived == archived]) for archived in (False, True)]
    listed = [{"archived": archived, "lines": part} for archived, part in parts if part]
    context = {
        "listed": listed,
        "closed": len(found) - len(lines),
        "may_create": may_create_projects(request.user),
    }
    return render(request, "projects/projects.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def project_new(request: Request) -> HttpResponse:
    if not may_create_projects(request.user):
        raise PermissionDenied("Only administrators and managers can create projects.")
    label_sets = shipped_label_sets()
    form = ProjectForm(request.POST or None, label_sets=label_sets, initial={"label_set": DEFAULT_LABEL_SET})
    if request.method == "POST" and form.is_valid():
        made = _create(request, form)
        if made is not None:
            return redirect("project", made.slug)
    chosen = form["label_set"].value()
    context = {"form": form, "label_sets": label_sets.values(), "chosen": chosen}
    return render(request, "projects/project_new.html", context)


def _create(request: Request, form: ProjectForm) -> Project | None:
    """Create the project. Returns None and adds an error to the form if the service raises ServiceError."""
    wanted = form.cleaned_data
    try:
        made = create_project(
            name=wanted["name"],
            label_set_key=wanted["label_set"],
            language=wanted["language"],
            manager=request.user,
            actor=request.user,
        )
    except ServiceError as error:
        if error.code == "exists" and (twin := _just_made(request, wanted)):
            return twin
        add_error(form, error, {"exists": "name", "slug": "name", "label-set": "label_set"})
        return None
    messages.success(request, _("The project was created. You are its manager."))
    return made


def _just_made(request: Request, wanted: dict[str, str]) -> Project | None:
    """The project that the first click of a double click has created."""
    since = timezone.now() - DOUBLE_CLICK
    return Project.objects.filter(
        created_by=request.user,
        name=wanted["name"].strip(),
        label_set__key=wanted["label_set"],
        created_at__gte=since,
        memberships__user=request.user,
    ).first()


@require_safe
def project(request: Request, slug: str) -> HttpResponse:
    """Overview of a project. Annotators see only their own work. A large project loads its counts as a fragment."""
    access = enter(request.user, slug)
    if request.htmx:
        require(access, Can.READ_NOTES)
        return render(request, "projects/overview.html", {"access": access} | _state(access))
    context: dict[str, object] = {"access": access, "own": overview.own.of(access)}
    if access.can(Can.READ_NOTES):
        late = is_large(access.project)
        context |= {"late": True} if late else _state(access)
    return render(request, "projects/project.html", context)


def _state(access: Access) -> dict[str, object]:
    """The parts for people who may read all notes. Some take a second in a very large project."""
    counted = tally(access.project)
    manages = access.can(Can.MANAGE)
    # The checklist ends with the first export. Its file may have expired since.
    done = not manages or access.project.exported_at is not None
    steps = [] if done else overview.steps.of(access)
    people = _people(access, counted.authors) if manages else []
    listed = {member.user for member, _progress in people}
    context: dict[str, object] = {
        "steps": steps,
        "next_step": next((step for step in steps if not step.done), None),
        "tally": counted,
        "people": people,
        "authors": [author for author in counted.authors if author.user not in listed],
    }
    if not counted.notes:
        return context
    return context | {
        "needs": overview.needs.of(access),
        "stages": overview.stages.of(access),
        "queues": overview.queues.of(access),
        "cards": overview.cards.of(access),
    }


def _people(access: Access, authors: list[AuthorProgress]) -> list[tuple[Activity, AuthorProgress | None]]:
    """The members, the most recently active first, each with the progress of their annotation sets if they have any."""
    progress = {author.user: author for author in authors if author.user}
    return [(member, progress.get(member.user)) for member in activity(access.project)]
