"""Give a provider's group a role in a project, and take it."""

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.models import GroupRole, Project, Role, User
from annotations.projects.events import GROUP_MAPPED, GROUP_UNMAPPED
from annotations.projects.rules import LdapDirectory
from annotations.projects.selectors.providers import configured
from annotations.projects.services.providers.provisioned import follow_members

LONGEST = 255


def map_group(*, project: Project, provider: str, group: str, role: str, actor: User | None) -> GroupRole:
    """Give a group a role, or another role. People get it when they sign in next, or are checked next.

    Members of a group that the provider pushes by SCIM get it at once.
    """
    known = {one.id: one for one in configured()}
    if provider not in known:
        raise ServiceError(
            _("There is no provider “%(provider)s”. Providers: %(known)s.")
            % {"provider": provider, "known": ", ".join(known) or _("none")},
            code="provider",
        )
    if role not in Role.values:
        raise ServiceError(
            _("“%(role)s” is not a role. Choose one of: %(choices)s.")
            % {"role": role, "choices": ", ".join(Role.values)},
            code="role",
        )
    group = group.strip()
    if isinstance(known[provider], LdapDirectory):
        group = group.lower()  # as names are compared in LDAP
    if not 1 <= len(group) <= LONGEST:
        raise ServiceError(
            _("The name of a group has 1 to %(longest)s characters.") % {"longest": LONGEST}, code="group"
        )
    with transaction.atomic():
        row, created = GroupRole.objects.select_for_update().get_or_create(
            project=project, provider=provider, group=group, defaults={"role": role}
        )
        if created or row.role != role:
            row.role = role
            row.save(update_fields=["role"])
            GROUP_MAPPED.record(
                actor=actor, project_id=project.pk, data={"group": row.pk, "provider": provider, "role": role}
            )
            follow_members(provider, group)
    return row


def unmap_group(*, row: GroupRole, actor: User | None) -> None:
    """Take the role from a group. People lose it when they sign in next, or are checked next; by SCIM, at once."""
    with transaction.atomic():
        GROUP_UNMAPPED.record(
            actor=actor, project_id=row.project_id, data={"group": row.pk, "provider": row.provider, "role": row.role}
        )
        row.delete()
        follow_members(row.provider, row.group)
