"""List of the user's projects, and overview of a project."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from annotations.core import addresses, overview
from annotations.core.access import Access, Can, may_create_projects, require
from annotations.core.forms import add_error, error_beside
from annotations.core.requests import FORM, Request, error_as_message, in_project, number, posted
from annotations.core.services import ServiceError, sentences
from annotations.models import Document, Handover, Project
from annotations.projects.forms.settings import GuidelinesForm, SettingsForm, settings_of
from annotations.projects.selectors.members import Filter, activity, audit_page, people
from annotations.projects.selectors.projects import (
    AuthorProgress,
    counts,
    guide_of,
    is_large,
    live_jobs,
    my_projects,
    runs_with_notes,
)
from annotations.projects.services import projects as project_services
from annotations.projects.services.assigning import annotators_of, assign_all, fill_up, start_pilot


@require_safe
def projects(request: Request) -> HttpResponse:
    """The user's projects. Archived ones are listed apart, below the others."""
    found = my_projects(request.user)
    lines = [line for line in found if not line.closed]
    parts = [(archived, [line for line in lines if line.archived == archived]) for archived in (False, True)]
    listed = [{"archived": archived, "lines": part} for archived, part in parts if part]
    new = addresses.address("project.new") if may_create_projects(request.user) else ""
    context = {"listed": listed, "closed": len(found) - len(lines), "new_project": new}
    return render(request, "projects/projects.html", context)


@in_project(Can.SEE_PROJECT)
def project(request: Request, access: Access) -> HttpResponse:
    """Overview of a project. Annotators see only their own work. A large project loads its counts as a fragment."""
    if request.htmx:
        require(access, Can.READ_NOTES)
        return render(request, "projects/overview.html", _state(access))
    context: dict[str, object] = {"own": overview.own.of(access)}
    if access.can(Can.READ_NOTES):
        late = is_large(access.project)
        context |= {"late": True} if late else _state(access)
    return render(request, "projects/project.html", context)


def _state(access: Access) -> dict[str, object]:
    """The parts for people who may read all notes. Some take a second in a very large project."""
    counted = access.once(counts)
    manages = access.can(Can.MANAGE)
    # The checklist ends with the first export. Its file may have expired since.
    done = not manages or access.project.exported_at is not None
    steps = [] if done else overview.steps.of(access)
    people = _people(access, counted.authors) if manages else []
    listed = {member.user_id for member, _progress in people}
    next_step = next((step for step in steps if not step.done and not step.optional), None)
    context: dict[str, object] = {
        "steps": steps,
        "next_step": next_step,
        "tally": counted,
        "people": people,
        "authors": [author for author in counted.authors if author.user not in listed],
    }
    if not counted.notes:
        return context
    return context | {
        # What the next step says already is not said again.
        "needs": [need for need in overview.needs.of(access) if not next_step or need.url != next_step.url],
        "stages": overview.stages.of(access),
        "queues": overview.queues.of(access),
        "cards": overview.cards.of(access),
    }


def _people(access: Access, authors: list[AuthorProgress]) -> list[tuple[Any, AuthorProgress | None]]:
    """The members, the most recently active first, each with the progress of their annotation sets if they have any."""
    progress = {author.user: author for author in authors if author.user}
    return [(member, progress.get(member.user_id)) for member in access.once(activity)]


# Buttons that archive and restore a project.


@in_project(Can.ARCHIVE, "POST")
def archive(request: Request, access: Access) -> HttpResponse:
    try:
        project_services.archive_project(project=access.project, actor=access.user)
        messages.success(request, _("The project is archived. Nobody can change it until a manager restores it."))
    except ServiceError as error:
        messages.error(request, _("The project was not archived. %(reason)s") % {"reason": error})
    return redirect(access.url("project_settings") + "#archive")


@in_project(Can.ARCHIVE, "POST")
def restore(request: Request, access: Access) -> HttpResponse:
    project_services.restore_project(project=access.project, actor=access.user)
    messages.success(request, _("The project is restored. People can work in it again."))
    return redirect("project_settings", access.slug)


# Page of a project's settings and assignments.


@in_project(Can.ARCHIVE, *FORM)
def project_settings(request: Request, access: Access) -> HttpResponse:
    if request.method == "POST":
        require(access, Can.MANAGE)
    elif access.archived:
        return render(request, "projects/settings_archived.html", {"jobs": live_jobs(access.project)})
    form = SettingsForm(posted(request), initial=settings_of(access.project), runs=runs_with_notes(access.project))
    if request.method == "POST" and form.is_valid():
        with error_beside(form):
            project_services.update_project(project=access.project, actor=access.user, **form.cleaned_data)
            messages.success(request, _("The settings were saved."))
            return redirect("project_settings", access.slug)
    return _page(request, access, form)


def _page(request: Request, access: Access, form: SettingsForm | None = None) -> HttpResponse:
    project = Project.objects.get(pk=access.project.pk)
    annotators = annotators_of(project)
    context = {
        "form": form or SettingsForm(initial=settings_of(project), runs=runs_with_notes(project)),
        "annotators": annotators,
        "by_list": project.distribution == Project.Distribution.LIST,
        "too_few": project.distribution == Project.Distribution.SOME and len(annotators) < project.annotators_per_note,
        "waiting": Handover.objects.filter(review__document__project=project, state__in=Handover.ACTIVE).count(),
        "notes": Document.objects.filter(project=project).count(),
        "jobs": live_jobs(project),
    }
    return render(request, "projects/settings.html", context, status=422 if form and form.errors else 200)


@in_project(Can.MANAGE, "POST")
def begin_annotating(request: Request, access: Access) -> HttpResponse:
    """Begin to annotate (`do`): a pilot, all notes by all annotators, or all notes by the managers alone."""
    rules = Project.Distribution
    with error_as_message(request):
        match request.POST.get("do"):
            case "pilot":
                made = start_pilot(project=access.project, actor=access.user)
                message = ngettext("The pilot of %(n)d note has begun.", "The pilot of %(n)d notes has begun.", made)
            case "all" | "alone" as wanted:
                rule = rules.MANAGERS if wanted == "alone" else rules.EVERYONE
                made = assign_all(project=access.project, actor=access.user, distribution=rule)
                message = ngettext("%(n)d assignment was made.", "%(n)d assignments were made.", made)
            case _:
                raise ServiceError(_("Unknown action. Nothing was changed. Reload the page."))
        messages.success(request, message % {"n": made})
    return redirect("project", access.slug)


@in_project(Can.MANAGE, "POST")
def fill_notes(request: Request, access: Access) -> HttpResponse:
    """Add missing assignments of existing notes by the project's rule."""
    try:
        made = fill_up(project=access.project, actor=access.user)
    except ServiceError as error:
        messages.error(request, str(error))
        return redirect("project_settings", access.slug)
    message = ngettext("%(count)d assignment was made.", "%(count)d assignments were made.", made)
    messages.success(request, message % {"count": made} if made else _("All notes already have enough annotators."))
    return redirect("project_settings", access.slug)


# Pages of the annotation guidelines, which every member reads and managers edit.


@in_project(Can.SEE_PROJECT)
def guidelines(request: Request, access: Access) -> HttpResponse:
    return render(request, "projects/guidelines.html", {"guide": guide_of(access.project)})


@in_project(Can.SEE_PROJECT)
def guidelines_beside(request: Request, access: Access) -> HttpResponse:
    """Fragment with the guidelines, for the panel beside a note."""
    context = {"guide": guide_of(access.project)}
    return render(request, "projects/guidelines_beside.html", context)


@in_project(Can.MANAGE, *FORM)
def guidelines_edit(request: Request, access: Access) -> HttpResponse:
    """Edit, preview or save the guidelines (`do`: preview or save).

    If somebody else saved in the meantime, nothing is saved and the page shows both versions.
    """
    project = access.project
    now = {"text": project.guidelines, "seen_version": project.guidelines_version}
    form = GuidelinesForm(posted(request), initial=now)
    context: dict[str, Any] = {"form": form}
    if request.method == "POST" and form.is_valid():
        text = form.cleaned_data["text"]
        if request.POST.get("do") == "preview":
            context["preview"] = text
        else:
            try:
                seen = form.cleaned_data["seen_version"]
                fresh = project_services.set_guidelines(
                    project=project, text=text, actor=request.user, seen_version=seen
                )
                messages.success(request, _("Saved as version %(n)d.") % {"n": fresh.guidelines_version})
                return redirect("guidelines", access.slug)
            except ServiceError as error:
                project.refresh_from_db()
                if project.guidelines == text:
                    # The same text is already saved, as after a double click.
                    return redirect("guidelines", access.slug)
                add_error(form, error)
                context |= {"stale": error.code == "stale", "theirs": project.guidelines}
    # The version that saving replaces. After a conflict, that is the version shown next to the text.
    fresh_view = not form.is_bound or context.get("stale")
    context["seen"] = project.guidelines_version if fresh_view else form["seen_version"].value()
    # htmx shows only answers with status 200, and the preview shows its own errors.
    return render(
        request, "projects/guidelines_edit.html", context, status=422 if form.errors and not request.htmx else 200
    )


# Page of the audit trail.


@in_project(Can.SEE_AUDIT)
def audit(request: Request, access: Access) -> HttpResponse:
    """Events, newest first. The URL holds the filters and the page's position as ids and verbs only."""
    verbs = sentences()
    verb = request.GET.get("verb", "")
    wanted = Filter(verb=verb if verb in verbs else "", person=number(request.GET, "person"))
    page = audit_page(
        access.project, wanted, older_than=number(request.GET, "before"), newer_than=number(request.GET, "after")
    )
    context = {
        "page": page,
        "wanted": wanted,
        "verbs": verbs.items(),
        "people": people(access.project),
        "moved": "before" in request.GET or "after" in request.GET,
    }
    return render(request, "projects/audit_list.html" if request.htmx else "projects/audit.html", context)
