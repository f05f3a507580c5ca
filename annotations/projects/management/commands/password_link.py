from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand, find_user
from annotations.models import Project, User
from annotations.projects.services.members import reset_link_path


class Command(ProjectCommand):
    help = "Print a one-time link that lets a member choose a new password."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", metavar="USER", help="User name of a member.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        user = find_user(options["user"])
        return {
            "user": user.username,
            "path": reset_link_path(project=project, user=user, actor=actor),
        }
