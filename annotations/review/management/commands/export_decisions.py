from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotations.core.commands import find_project
from annotations.core.errors import ServiceError
from annotations.review.selectors.decision_log import FORMATS


class Command(BaseCommand):
    help = (
        "Write the log of review decisions, oldest first: reviewer, time, suggestion and outcome. "
        "The log contains no note text."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("--format", choices=sorted(FORMATS), default="csv")
        parser.add_argument("--output", metavar="FILE", help="File to write. Default: standard output.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            lines = FORMATS[options["format"]](find_project(options["project"]))
        except ServiceError as error:
            raise CommandError(str(error)) from None
        path = options["output"]
        try:
            with Path(path).open("w", encoding="utf-8", newline="") if path else nullcontext(self.stdout) as out:
                for line in lines:
                    # Each line already ends with a line break.
                    out.write(line, ending="") if out is self.stdout else out.write(line)
        except OSError as error:
            raise CommandError(f"Cannot write “{path}”: {error.strerror}.") from None
