"""Pages of the members of a project: add people, create accounts, change roles, remove and restore members."""

from collections.abc import Sequence
from typing import Any

from allauth.account import views as account
from allauth.core.ratelimit import consume
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotations.core.access import Access, Can, SecondFactorMissing, has_app
from annotations.core.api.tokens import create_token, revoke_token
from annotations.core.forms import error_beside
from annotations.core.requests import FORM, Request, error_as_message, in_project, paged, posted
from annotations.core.services import ServiceError
from annotations.models import Membership, Role, User
from annotations.projects.forms.members import AddPeopleForm, GroupForm, RemoveForm, RoleForm, TokenForm
from annotations.projects.selectors.members import (
    TOKEN_STATES,
    member_for,
    members,
    memberships,
    projects_of,
    state_of,
    tokens_of,
)
from annotations.projects.selectors.providers import configured, pushes_groups, roles_of_groups
from annotations.projects.services import members as member_services
from annotations.projects.services.providers.checking import map_group, unmap_group
from annotations.projects.services.second_factor import has_second_factor

# Rows per page, of members and of former members.
ROWS = 50


@in_project(Can.MANAGE, *FORM)
def people(request: Request, access: Access) -> HttpResponse:
    """The members. A POST adds some; for new accounts, only its answer shows the one-time links."""
    form = AddPeopleForm(posted(request))
    if request.method == "POST" and form.is_valid():
        with error_beside(form):
            return _add(request, access, form.cleaned_data)
    page, gone = (
        paged(request, memberships(access.project, active=active), ROWS, name)
        for name, active in (("page", True), ("removed", False))
    )
    active, removed = list(page), list(gone)
    shown = members([*active, *removed], access.user)
    context = {
        "page": page,
        "members": shown[: len(active)],
        "gone": gone,
        "removed": shown[len(active) :],
        "unlinkable": any(not member.linkable for member in shown[: len(active)]),
        "form": form,
        "roles": Role.choices,
    }
    return render(request, "projects/accounts/people.html", context, status=422 if form.errors else 200)


def _add(request: Request, access: Access, wanted: dict[str, Any]) -> HttpResponse:
    """Add members, with new or existing accounts. Raises ServiceError."""
    new = wanted["account"] == "new"
    with transaction.atomic():
        added = member_services.add_people(
            project=access.project, lines=wanted["username"], role=wanted["role"], new=new, actor=access.user
        )
        if new and added:
            return _show_links(request, access, [member.user for member in added], made=True)
    for member in added:
        messages.success(request, _("%(name)s is now a member.") % {"name": member.user.username})
    return redirect("people", access.slug)


def _show_links(request: Request, access: Access, people: Sequence[User], *, made: bool = False) -> HttpResponse:
    """Page with one-time links, which are shown only here and not stored. The answer is not cached."""
    paths = [
        (user, member_services.reset_link_path(project=access.project, user=user, actor=access.user)) for user in people
    ]
    links = [(user, request.build_absolute_uri(path)) for user, path in paths]
    return render(request, "projects/accounts/reset_link.html", {"made": made, "links": links})


def _back(request: Request, access: Access) -> HttpResponse:
    """Redirect to the members, or to the projects if the user is no longer a manager here."""
    still = Membership.objects.filter(project=access.project, user=request.user, active=True, role=Role.MANAGER)
    if still.exists():
        return redirect("people", access.slug)
    return redirect("projects")


@in_project(Can.MANAGE, "POST")
def member_role(request: Request, access: Access, pk: int) -> HttpResponse:
    """Change the role of a member, or restore a former member."""
    member = member_for(access, pk)
    form = RoleForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("This role does not exist. Nothing was changed."))
        return redirect("people", access.slug)
    with error_as_message(request):
        changed = member_services.add_member(
            project=access.project, user=member.user, role=form.cleaned_data["role"], actor=access.user
        )
        message = _("New role of %(name)s: %(role)s.") if member.active else _("%(name)s was restored. Role: %(role)s.")
        role = changed.get_role_display().lower()
        messages.success(request, message % {"name": member.user.username, "role": role})
    return _back(request, access)


@in_project(Can.MANAGE, *FORM)
def member_remove(request: Request, access: Access, pk: int) -> HttpResponse:
    """Preview of removing a member. A POST removes the member."""
    member = member_for(access, pk)
    if not member.active:
        # The member is already removed, as after a double click.
        return redirect("people", access.slug)
    heirs = member_services.heirs_of(project=access.project, user=member.user)
    form = RemoveForm(posted(request), heirs=heirs)
    if request.method == "POST" and form.is_valid():
        with error_beside(form, {"heir": "heir"}):
            member_services.remove_member(
                project=access.project, user=member.user, actor=access.user, hand_over_to=form.cleaned_data["heir"]
            )
            message = _("%(name)s was removed. All annotations are kept.")
            messages.success(request, message % {"name": member.user.username})
            return _back(request, access)
    context = {
        "member": member,
        "preview": member_services.removal_preview(project=access.project, user=member.user),
        "heirs": heirs,
        "form": form,
    }
    return render(request, "projects/accounts/member_remove.html", context, status=422 if form.errors else 200)


@in_project(Can.MANAGE, "POST")
def member_link(request: Request, access: Access, pk: int) -> HttpResponse:
    """Create a one-time link for a member who forgot their password."""
    member = member_for(access, pk)
    try:
        return _show_links(request, access, [member.user])
    except ServiceError as error:
        messages.error(request, str(error))
        return redirect("people", access.slug)


# The page of the groups whose members get a role in a project.


@in_project(Can.MANAGE, *FORM)
def groups(request: Request, access: Access) -> HttpResponse:
    """The groups and their roles. A POST gives a group a role."""
    providers = configured()
    form = GroupForm(posted(request), providers=providers)
    if request.method == "POST" and form.is_valid():
        with error_beside(form, {"group": "group", "provider": "provider", "role": "role"}):
            map_group(project=access.project, actor=access.user, **form.cleaned_data)
            messages.success(
                request,
                _("The group has its role. Its members have the role now.")
                if pushes_groups(form.cleaned_data["provider"])
                else _("The group has its role. Its members get it at their next sign-in."),
            )
            return redirect("groups", access.slug)
    names = {one.id: one.name for one in providers}
    context = {
        "form": form,
        "providers": providers,
        "rows": [(row, names.get(row.provider, row.provider)) for row in roles_of_groups(access.project)],
    }
    return render(request, "projects/providers/groups.html", context, status=422 if form.errors else 200)


@in_project(Can.MANAGE, "POST")
def group_remove(request: Request, access: Access, pk: int) -> HttpResponse:
    """Take the role from a group."""
    row = get_object_or_404(roles_of_groups(access.project), pk=pk)
    unmap_group(row=row, actor=access.user)
    messages.success(
        request,
        _("The group has no role any more. Its members have lost it.")
        if pushes_groups(row.provider)
        else _("The group has no role any more. Its members lose it at their next check or sign-in."),
    )
    return redirect("groups", access.slug)


# The page of a person's API tokens: list, create (shown once), revoke.


@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: Request) -> HttpResponse:
    """The person's tokens. A POST creates one; only its answer, which is not cached, shows the token itself."""
    posted = request.method == "POST"
    if posted and has_app(request.user) and not request.user.shown_second_factor:
        raise SecondFactorMissing  # A session from before the app was set up.
    if posted and not consume(request, action="reauthenticate", user=request.user):
        return HttpResponse(_("Too many attempts. Try again in a few minutes."), status=429)
    form = TokenForm(request.POST if posted else None, user=request.user, projects=projects_of(request.user))
    if posted and form.is_valid():
        wanted = {name: value for name, value in form.cleaned_data.items() if name != "password"}
        with error_beside(form):
            row, secret = create_token(user=request.user, actor=request.user, **wanted)
            return render(request, "projects/api/token_created.html", {"token": row, "secret": secret})
    page = paged(request, tokens_of(request.user), ROWS)
    context = {
        "page": page,
        "lines": [(row, state := state_of(row), TOKEN_STATES[state]) for row in page],
        "form": form,
    }
    return render(request, "projects/api/tokens.html", context, status=422 if form.errors else 200)


@require_POST
def revoke(request: Request, pk: int) -> HttpResponse:
    token = get_object_or_404(tokens_of(request.user), pk=pk)
    revoke_token(token=token, actor=request.user)
    messages.success(request, _("The token “%(name)s” is revoked. It gives no access any more.") % {"name": token.name})
    return redirect("api_tokens")


# Account pages that only explain something or lead on; all others are allauth's.


@login_not_required
@require_safe
def signup_closed(request: HttpRequest) -> HttpResponse:
    return render(request, "account/signup_closed.html", status=403)


@login_not_required
@require_safe
def password_forgotten(request: HttpRequest) -> HttpResponse:
    """Explain that a manager can create a one-time link, since there is no mail server."""
    return render(request, "account/password_reset.html", {"title": _("Forgotten password")})


def password_change(request: Request) -> HttpResponse:
    """allauth's page, for accounts that have a password here."""
    if not request.user.has_usable_password():
        return render(request, "account/password_elsewhere.html")
    response: HttpResponse = account.password_change(request)
    return response


@require_safe
def second_factor(request: Request) -> HttpResponse:
    """Lead to the page that is missing: set up an authenticator app, or enter a code of it."""
    if not has_app(request.user):
        return redirect("mfa_activate_totp")
    if has_second_factor(request, request.user):
        return redirect("projects")
    return redirect(f"{reverse('mfa_reauthenticate')}?{urlencode({'next': reverse('projects')})}")
