from typing import Any

from django.core.management.base import CommandParser

from annotations.accounts.services import reset_link_path
from annotations.core.commands import JourneyCommand, find_project, find_user
from annotations.models import User


class Command(JourneyCommand):
    help = "Print a one-time link by which a member chooses a new password."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("user", metavar="USER")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        user = find_user(options["user"])
        return {
            "user": user.username,
            "path": reset_link_path(project=find_project(options["project"]), user=user, actor=actor),
        }

    def say(self, result: dict[str, Any]) -> str:
        return f"{result['user']} opens once, on this server's address: {result['path']}"
