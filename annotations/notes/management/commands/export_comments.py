from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project
from annotations.core.errors import ServiceError
from annotations.models import User
from annotations.notes.selectors.comment_table import comment_lines


class Command(JourneyCommand):
    help = "Write all comments of a project to a new CSV file: note, bounds, author, time, resolution and text."
    needs = Can.EXPORT

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        parser.add_argument("out", metavar="FILE", type=Path, help="CSV file to create.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project, path = find_project(options["project"]), options["out"]
        try:
            with path.open("x", encoding="utf-8", newline="") as file:
                rows = sum(1 for line in comment_lines(project) if file.write(line))
        except OSError as error:
            raise ServiceError(f"Can't write “{path}”: {error.strerror}. Choose another path.", code="out") from error
        return {"comments": rows - 1}

    def say(self, result: dict[str, Any]) -> str:
        return f"Comments written: {result['comments']}."
