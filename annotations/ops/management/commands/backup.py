from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.commands import JourneyCommand
from annotations.models import User
from annotations.ops.services.backup import write_backup


class Command(JourneyCommand):
    help = "Write the whole database to one compressed file, as it is at this moment. The product may run meanwhile."
    requires_system_checks: list[str] = []

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="a file that does not exist yet; it holds notes: keep it safe")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        return write_backup(file=Path(options["file"]).absolute())

    def say(self, result: dict[str, Any]) -> str:
        counts = result["counts"]
        return (
            f"{result['file']}: {result['bytes']:,} bytes; {counts.get('document', 0):,} notes and "
            f"{counts.get('span', 0):,} spans in {counts.get('project', 0):,} projects"
        )
