"""Buttons that archive and restore a project."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotations.core.access import Can, enter
from annotations.core.errors import ServiceError
from annotations.core.requests import Request
from annotations.projects.services.archiving import archive_project, restore_project


@require_POST
def archive(request: Request, slug: str) -> HttpResponse:
    access = enter(request.user, slug, Can.ARCHIVE)
    try:
        archive_project(project=access.project, actor=access.user)
        messages.success(request, _("The project is archived. Nobody can change it until a manager restores it."))
    except ServiceError as error:
        messages.error(request, _("The project was not archived. %(reason)s") % {"reason": error})
    return redirect(reverse("project_settings", args=[slug]) + "#archive")


@require_POST
def restore(request: Request, slug: str) -> HttpResponse:
    access = enter(request.user, slug, Can.ARCHIVE)
    restore_project(project=access.project, actor=access.user)
    messages.success(request, _("The project is restored. People can work in it again."))
    return redirect("project_settings", slug)
