"""Roles in projects by a provider's groups.

A role that a person gave by hand stays as it is, and so does a removal by hand. All other roles follow the groups at
each sign-in and at each check of the relay.
"""

from collections.abc import Collection

from django.db import transaction

from annotations.core.locks import ProjectArchived
from annotations.models import GroupRole, Membership, Project, Role, User
from annotations.projects.services.members import add_member, remove_member

# Of several groups, the one with the most rights counts. An annotator who is also a viewer stays blind to others.
ORDER = [Role.MANAGER, Role.REVIEWER, Role.ANNOTATOR, Role.VIEWER]


def follow_groups(*, user: User, provider: str, groups: Collection[str]) -> None:
    """Give the person the roles of these groups, and take those that came from other groups of the provider."""
    wanted = _wanted(provider, groups)
    held = {one.project_id: one for one in Membership.objects.filter(user=user).select_related("project")}
    for pk in sorted(wanted.keys() | held.keys()):
        member, role = held.get(pk), wanted.get(pk)
        if role is not None and (member is None or _differs(member, provider, role)):
            _give(Project.objects.get(pk=pk), user, role, provider, member)
        elif role is None and member is not None and member.active and member.provided_by == provider:
            remove_member(project=member.project, user=user, actor=None, provided_by=provider)


def _wanted(provider: str, groups: Collection[str]) -> dict[int, str]:
    found: dict[int, str] = {}
    rows = GroupRole.objects.filter(provider=provider, group__in=list(groups)).values_list("project_id", "role")
    for project, role in sorted(rows, key=lambda row: ORDER.index(Role(row[1]))):
        found.setdefault(project, role)
    return found


def _differs(member: Membership, provider: str, role: str) -> bool:
    return member.provided_by == provider and (member.role != role or not member.active)


def _give(project: Project, user: User, role: str, provider: str, member: Membership | None) -> None:
    """Give the role. In an archived project, nobody gets a role, and one that has changed ends until it is restored."""
    try:
        with transaction.atomic():
            add_member(project=project, user=user, role=role, provided_by=provider)
    except ProjectArchived:
        if member is not None and member.active:
            remove_member(project=project, user=user, actor=None, provided_by=provider)
