from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.archives.services.writing import archive_to_path
from annotations.core.commands import JourneyCommand, find_project
from annotations.core.terminal import progress_bar
from annotations.models import User


class Command(JourneyCommand):
    help = "Write a whole project to a .zip that another instance can import. It contains notes, so keep it safe."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        parser.add_argument("out", metavar="OUT", type=Path, help="New file, whose name ends with .zip.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        out = options["out"].absolute()
        with progress_bar("Exporting") as progress:
            written = archive_to_path(project=find_project(options["project"]), out=out, actor=actor, progress=progress)
        return {"file": str(out), **written._asdict()}

    def say(self, result: dict[str, Any]) -> str:
        return (
            f"Wrote {result['file']}: {result['notes']:,} notes, {result['sets']:,} annotation sets, "
            f"{result['spans']:,} spans. SHA-256: {result['sha256']}"
        )
