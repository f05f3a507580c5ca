from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project
from annotations.models import User
from annotations.projects.services.filling import fill_up


class Command(JourneyCommand):
    help = "Add the assignments of existing notes that are missing by the project's rule. None is removed."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        return {"project": project.slug, "assigned": fill_up(project=project, actor=actor)}

    def say(self, result: dict[str, Any]) -> str:
        return f"Assignments made: {result['assigned']}."
