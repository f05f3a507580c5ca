from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, entered, find_project, read_text
from annotations.models import User
from annotations.projects.services.projects import set_guidelines


class Command(JourneyCommand):
    help = "Print a project's guidelines, or replace them by those of a Markdown file."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument(
            "--from", dest="source", metavar="FILE", type=Path, help="Markdown file to replace them by."
        )

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        if options["source"]:
            if actor is not None:
                entered(actor, project, Can.MANAGE)
            text = read_text(options["source"], "Nothing was changed.")
            project = set_guidelines(project=project, text=text, actor=actor)
        return {"version": project.guidelines_version, "guidelines": project.guidelines}

    def say(self, result: dict[str, Any]) -> str:
        return str(result["guidelines"]) or "There are no guidelines."
