from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand
from annotations.models import GroupRole, Project, Role, User
from annotations.projects.services.providers.checking import map_group, unmap_group


class Command(ProjectCommand):
    help = "Give the members of a provider's group a role in a project, or take it with --remove."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("provider", metavar="PROVIDER", help="The id of the provider in the settings.")
        parser.add_argument("group", metavar="GROUP", help="The group as the provider writes it; for LDAP its DN.")
        choice = parser.add_mutually_exclusive_group(required=True)
        choice.add_argument("--role", choices=Role.values, help="Role in the project.")
        choice.add_argument("--remove", action="store_true", help="Take the role from the group.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        result = {"project": project.slug, "provider": options["provider"], "group": options["group"]}
        if not options["remove"]:
            map_group(project=project, actor=actor, **{key: options[key] for key in ("provider", "group", "role")})
            return result | {"role": options["role"]}
        rows = GroupRole.objects.filter(project=project, provider=options["provider"])
        for row in rows.filter(group__in=[options["group"], options["group"].lower()]):
            unmap_group(row=row, actor=actor)
        return result | {"role": None}
