"""Who takes part: adding people and making their accounts, roles, taking people out and bringing them back."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotations.accounts.forms import AddMemberForm, RemoveForm, RoleForm
from annotations.accounts.selectors import members
from annotations.accounts.services import add_member, create_user, removal_preview, remove_member, reset_link_path
from annotations.core.access import Access, Can, enter
from annotations.core.errors import ServiceError
from annotations.core.refusals import refuse, sentence
from annotations.core.requests import Request
from annotations.models import Membership, Role, User
from annotations.projects.services.assigning import annotators


@require_http_methods(["GET", "HEAD", "POST"])
def people(request: Request, slug: str) -> HttpResponse:
    """The members; a POST adds one. A new account's one-time link is on the answer and nowhere else."""
    access = enter(request.user, slug, Can.MANAGE)
    form = AddMemberForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            return _add(request, access, form.cleaned_data)
        except ServiceError as error:
            refuse(form, error, {"exists": "username", "no-account": "username", "member": "username"})
        except ValidationError as error:
            form.add_error("username", error)
    active, removed = members(access.project, access.user)
    context = {
        "access": access,
        "members": active,
        "removed": removed,
        "unlinkable": any(not member.linkable for member in active),
        "form": form,
        "roles": Role.choices,
    }
    return render(request, "accounts/people.html", context, status=422 if form.errors else 200)


def _add(request: Request, access: Access, wanted: dict[str, Any]) -> HttpResponse:
    """Raises ServiceError or ValidationError for the form."""
    project, role = access.project, wanted["role"]
    if wanted["account"] == "new":
        with transaction.atomic():
            new = create_user(username=wanted["username"], created_in=project)
            add_member(project=project, user=new, role=role, actor=access.user)
            return _show_link(request, access, new, made=True)
    user = User.objects.filter(username=wanted["username"], is_active=True).first()
    if user is None:
        raise ServiceError(
            _(
                "nobody has exactly this user name; check it with the person, or choose “Make an account for them”. "
                "Nothing was changed"
            ),
            code="no-account",
        )
    member = Membership.objects.filter(project=project, user=user, active=True).first()
    if member is not None and member.role != role:
        raise ServiceError(
            _("%(name)s is a member already, as %(role)s; change the role in the table")
            % {"name": user.username, "role": member.get_role_display().lower()},
            code="member",
        )
    add_member(project=project, user=user, role=role, actor=access.user)
    messages.success(request, _("%(name)s is a member now.") % {"name": user.username})
    return redirect("people", project.slug)


def _show_link(request: Request, access: Access, user: User, *, made: bool = False) -> HttpResponse:
    """The one-time link, shown once: it is stored nowhere, and this answer is kept in no cache."""
    path = reset_link_path(project=access.project, user=user, actor=access.user)
    context = {"access": access, "person": user, "made": made, "link": request.build_absolute_uri(path)}
    return render(request, "accounts/reset_link.html", context)


def _member(access: Access, pk: int) -> Membership:
    return get_object_or_404(Membership.objects.select_related("user"), project=access.project, pk=pk)


def _back(request: Request, access: Access) -> HttpResponse:
    """To the list, unless this person gave up the right to see it."""
    still = Membership.objects.filter(project=access.project, user=request.user, active=True, role=Role.MANAGER)
    if still.exists():
        return redirect("people", access.project.slug)
    return redirect("projects")


@require_POST
def member_role(request: Request, slug: str, pk: int) -> HttpResponse:
    """Another role; also the way back for somebody who was removed."""
    access = enter(request.user, slug, Can.MANAGE)
    member = _member(access, pk)
    form = RoleForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("That role is not known. Nothing was changed."))
        return redirect("people", slug)
    try:
        changed = add_member(
            project=access.project, user=member.user, role=form.cleaned_data["role"], actor=access.user
        )
        words = _("%(name)s is %(role)s now.") if member.active else _("%(name)s is back, as %(role)s.")
        role = changed.get_role_display().lower()
        messages.success(request, words % {"name": member.user.username, "role": role})
    except ServiceError as error:
        messages.error(request, sentence(error))
    return _back(request, access)


@require_http_methods(["GET", "HEAD", "POST"])
def member_remove(request: Request, slug: str, pk: int) -> HttpResponse:
    """What taking somebody out touches; a POST does it."""
    access = enter(request.user, slug, Can.MANAGE)
    member = _member(access, pk)
    if not member.active:
        # Done already: the second click, or a page from before.
        return redirect("people", slug)
    heirs = [reader for reader in annotators(access.project) if reader.pk != member.user_id]
    form = RemoveForm(request.POST if request.method == "POST" else None, heirs=heirs)
    if request.method == "POST" and form.is_valid():
        try:
            remove_member(
                project=access.project, user=member.user, actor=access.user, hand_over_to=form.cleaned_data["heir"]
            )
            messages.success(request, _("%(name)s was removed. Their work is kept.") % {"name": member.user.username})
            return _back(request, access)
        except ServiceError as error:
            refuse(form, error, {"heir": "heir"})
    context = {
        "access": access,
        "member": member,
        "preview": removal_preview(project=access.project, user=member.user),
        "heirs": heirs,
        "form": form,
    }
    return render(request, "accounts/member_remove.html", context, status=422 if form.errors else 200)


@require_POST
def member_link(request: Request, slug: str, pk: int) -> HttpResponse:
    """A one-time link for somebody who forgot their password."""
    access = enter(request.user, slug, Can.MANAGE)
    member = _member(access, pk)
    try:
        return _show_link(request, access, member.user)
    except ServiceError as error:
        messages.error(request, sentence(error))
        return redirect("people", slug)
