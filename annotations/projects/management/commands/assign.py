from typing import Any

from django.core.management.base import CommandParser

from annotations.core.commands import JourneyCommand, find_project, find_user
from annotations.models import User
from annotations.projects.services.assigning import assign_list


class Command(JourneyCommand):
    help = "Give somebody the notes of these names to read."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("user", metavar="USER")
        parser.add_argument("notes", metavar="NOTE", nargs="+")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        user = find_user(options["user"])
        made = assign_list(project=find_project(options["project"]), user=user, names=options["notes"], actor=actor)
        return {"user": user.username, "assigned": made}

    def say(self, result: dict[str, Any]) -> str:
        return f"{result['assigned']} notes for {result['user']}"
