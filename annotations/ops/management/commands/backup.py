from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.commands import JourneyCommand
from annotations.models import User
from annotations.ops.services.backup import write_backup


class Command(JourneyCommand):
    help = "Write the whole database to one compressed file. deidreview may keep running meanwhile."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="New file. It will contain notes, so keep it safe.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        return write_backup(file=Path(options["file"]).absolute())
