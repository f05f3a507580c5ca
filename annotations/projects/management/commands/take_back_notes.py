from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, entered, find_project
from annotations.models import User
from annotations.projects.services.idle import take_back


class Command(JourneyCommand):
    help = (
        "Assign the notes that an idle annotator lost to that annotator again, except those that went to others. --by "
        "must name the annotator."
    )
    needs = None

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        access = entered(actor, find_project(options["project"]), Can.ANNOTATE)
        return {"annotator": access.user.username, "assigned": take_back(project=access.project, user=access.user)}

    def say(self, result: dict[str, Any]) -> str:
        return f"Notes assigned to {result['annotator']} again: {result['assigned']}."
