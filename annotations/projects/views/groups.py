"""The page of the groups whose members get a role in a project."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotations.core.access import Can, enter
from annotations.core.errors import ServiceError
from annotations.core.forms import add_error
from annotations.core.requests import Request
from annotations.projects.forms.groups import GroupForm
from annotations.projects.selectors.providers import configured, pushes_groups, roles_of_groups
from annotations.projects.services.providers.groups import map_group, unmap_group


@require_http_methods(["GET", "HEAD", "POST"])
def groups(request: Request, slug: str) -> HttpResponse:
    """The groups and their roles. A POST gives a group a role."""
    access = enter(request.user, slug, Can.MANAGE)
    providers = configured()
    form = GroupForm(request.POST if request.method == "POST" else None, providers=providers)
    if request.method == "POST" and form.is_valid():
        try:
            map_group(project=access.project, actor=access.user, **form.cleaned_data)
            messages.success(
                request,
                _("The group has its role. Its members have the role now.")
                if pushes_groups(form.cleaned_data["provider"])
                else _("The group has its role. Its members get it at their next sign-in."),
            )
            return redirect("groups", slug)
        except ServiceError as error:
            add_error(form, error, {"group": "group", "provider": "provider", "role": "role"})
    names = {one.id: one.name for one in providers}
    context = {
        "access": access,
        "form": form,
        "providers": providers,
        "rows": [(row, names.get(row.provider, row.provider)) for row in roles_of_groups(access.project)],
    }
    return render(request, "projects/providers/groups.html", context, status=422 if form.errors else 200)


@require_POST
def group_remove(request: Request, slug: str, pk: int) -> HttpResponse:
    """Take the role from a group."""
    access = enter(request.user, slug, Can.MANAGE)
    row = get_object_or_404(roles_of_groups(access.project), pk=pk)
    unmap_group(row=row, actor=access.user)
    messages.success(
        request,
        _("The group has no role any more. Its members have lost it.")
        if pushes_groups(row.provider)
        else _("The group has no role any more. Its members lose it at their next check or sign-in."),
    )
    return redirect("groups", slug)
