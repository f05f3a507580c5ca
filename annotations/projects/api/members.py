"""Routes of the members of a project: list, add, change the role, restore, remove, password link."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext_lazy as _
from ninja import Field, Query, Schema

from annotations.core.access import Access, Can
from annotations.core.api.paging import Page, PageAnswer, Paging, paged
from annotations.core.api.routes import Answer, ApiRequest, Body, ProjectRouter, check, invalid, named, shows_once
from annotations.models import Membership
from annotations.projects.forms.members import AddMemberForm, RemoveForm, RoleForm
from annotations.projects.selectors.members import MemberRow, member_for, members, memberships
from annotations.projects.services import members as member_services

router = ProjectRouter(tags=["Members"])
PATH = "/projects/{slug:slug}/members"
Member = Annotated[Membership, member_for]
LINK_OF_NEW = _("Find the member in the list of members, and create a link with POST …/members/{member}/password-link.")
NEW_LINK = _("Send the request with a new Idempotency-Key to create another link.")


class MemberItem(Answer):
    """A current or former member. `open` and `done` count assigned notes.

    `linkable`: whether the token's person may create a password link for this member.
    """

    id: int = Field(validation_alias="row.pk")
    username: str = Field(validation_alias="row.user.username")
    role: str = Field(validation_alias="row.role")
    active: bool = Field(validation_alias="row.active")
    joined_at: datetime = Field(validation_alias="row.joined_at")
    open: int
    done: int
    linkable: bool


class NewMember(Body):
    """A person by their exact user name. `account`: existing, or new for an account that doesn't exist yet."""

    username: str = Field(max_length=150)
    role: str
    account: str = "existing"


class AddedMember(MemberItem):
    """The member. For a new account, `link` leads to the page on which the person chooses a password, once."""

    link: str | None = None


class NewRole(Body):
    role: str


class PasswordLink(Schema):
    """The address of the page on which the person chooses a new password. It works once and expires."""

    link: str


class MemberRemoval(Answer):
    """What removing a member affects. Drafts are withdrawn, but kept; submitted annotation sets stay."""

    username: str = Field(validation_alias="user")
    open_notes: int
    drafts: int
    submitted: int
    may_take_over: list[str]


class RemovedMember(MemberRemoval):
    """What removing the member affected; `handed_over` notes were assigned to the heir."""

    handed_over: int


class NotesHeir(Body):
    """The user name of the annotator who gets the open notes; empty: nobody."""

    hand_over_to: str = Field("", max_length=150)


@router.get(PATH, Can.MANAGE, response=Page[MemberItem])
def list_members(request: ApiRequest, access: Access, paging: Query[Paging], active: bool = True) -> PageAnswer:
    """List the members in the order in which they joined, or the former members."""

    def fetch(after: int | None, size: int) -> Sequence[MemberRow]:
        rows = memberships(access.project, active=active).filter(pk__gt=after or 0)
        return members(list(rows[:size]), access.user)

    return paged(request, paging, fetch, MemberItem.model_validate, lambda member: member.row.pk)


@router.post(PATH, Can.MANAGE, response={201: AddedMember})
@shows_once("link", LINK_OF_NEW)
def new_member(request: ApiRequest, access: Access, body: NewMember) -> AddedMember:
    """Add a member, with an existing or a new account. The same member again changes nothing."""
    wanted = check(AddMemberForm(body.dict()))
    new = wanted["account"] == "new"
    with named({"exists": "username", "no-account": "username", "member": "username"}), transaction.atomic():
        try:
            member = member_services.add_person(
                project=access.project, username=wanted["username"], role=wanted["role"], new=new, actor=access.user
            )
        except ValidationError as error:
            raise invalid(*(("username", reason) for reason in error.messages)) from error
        link = _link(request, access, member) if new else None
    return AddedMember(**_item(access, member).dict(), link=link)


@router.get(f"{PATH}/{{int:member}}", Can.MANAGE, response=MemberItem)
def read_member(access: Access, member: Member) -> MemberItem:
    """Read a member."""
    return _item(access, member)


@router.patch(f"{PATH}/{{int:member}}", Can.MANAGE, response=MemberItem)
def change_role(access: Access, member: Member, body: NewRole) -> MemberItem:
    """Change the role of a member, or restore a former member with this role."""
    role = check(RoleForm(body.dict()))["role"]
    changed = member_services.add_member(project=access.project, user=member.user, role=role, actor=access.user)
    return _item(access, changed)


@router.get(f"{PATH}/{{int:member}}/removal", Can.MANAGE, response=MemberRemoval)
def preview_removal(access: Access, member: Member) -> dict[str, Any]:
    """Say what removing a member would affect."""
    return member_services.removal_preview(project=access.project, user=member.user)


@router.post(f"{PATH}/{{int:member}}/remove", Can.MANAGE, response=RemovedMember)
def remove_from_project(access: Access, member: Member, body: NotesHeir) -> dict[str, Any]:
    """Remove a member. All annotations are kept."""
    heirs = member_services.heirs_of(project=access.project, user=member.user)
    chosen = next((heir.pk for heir in heirs if heir.username == body.hand_over_to), body.hand_over_to)
    form = RemoveForm({"heir": chosen}, heirs=heirs)
    wanted = check(form, {"heir": "hand_over_to"})
    with named({"heir": "hand_over_to"}):
        return member_services.remove_member(
            project=access.project, user=member.user, actor=access.user, hand_over_to=wanted["heir"]
        )


@router.post(f"{PATH}/{{int:member}}/password-link", Can.MANAGE, response=PasswordLink)
@shows_once("link", NEW_LINK)
def new_password_link(request: ApiRequest, access: Access, member: Member) -> PasswordLink:
    """Create a link with which a member chooses a new password."""
    return PasswordLink(link=_link(request, access, member))


def _item(access: Access, member: Membership) -> MemberItem:
    [found] = members([member], access.user)
    return MemberItem.model_validate(found)


def _link(request: ApiRequest, access: Access, member: Membership) -> str:
    path = member_services.reset_link_path(project=access.project, user=member.user, actor=access.user)
    return request.build_absolute_uri(path)
