from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import LinesCommand, find_project
from annotations.models import User
from annotations.review.selectors.decision_log import FORMATS


class Command(LinesCommand):
    help = (
        "Write the log of review decisions, oldest first: reviewer, time, suggestion and outcome. "
        "The log contains no note text."
    )
    needs = Can.EXPORT

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("--format", choices=sorted(FORMATS), default="csv")
        super().arguments(parser)

    def lines(self, actor: User | None, **options: Any) -> Iterable[str]:
        return FORMATS[options["format"]](find_project(options["project"]))
