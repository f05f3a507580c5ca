from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project, find_user
from annotations.models import User
from annotations.projects.services.assigning import assign_list


class Command(JourneyCommand):
    help = "Assign notes to an annotator by name."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        parser.add_argument("user", metavar="USER", help="User name of a member.")
        parser.add_argument("notes", metavar="NOTE", nargs="+", help="Name of a note.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        user, project = find_user(options["user"]), find_project(options["project"])
        made = assign_list(project=project, user=user, names=options["notes"], actor=actor)
        return {"user": user.username, "assigned": made}

    def say(self, result: dict[str, Any]) -> str:
        return f"Notes assigned to {result['user']}: {result['assigned']}."
