from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.commands import JourneyCommand
from annotations.models import User
from annotations.ops.services.backup import restore_backup


class Command(JourneyCommand):
    help = "Replace the database by a backup, completely or not at all. Stop deidreview first."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="File that the command “backup” wrote.")
        parser.add_argument(
            "--force", action="store_true", help="Replace a database that contains data, after backing it up."
        )

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        return restore_backup(file=Path(options["file"]).absolute(), force=options["force"])
