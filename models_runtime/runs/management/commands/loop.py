from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project
from annotations.models import User
from models_runtime.runs.services.loop import loop_answer


class Command(JourneyCommand):
    help = "Show the loop of a project by round: gold, model, F1 on the hold-out, actions per span, seconds per note."
    needs = Can.READ_NOTES

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        return loop_answer(find_project(options["project"]))
