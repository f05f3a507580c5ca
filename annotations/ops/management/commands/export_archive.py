from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand
from annotations.models import Project, User
from annotations.ops.services.archives.reading import export_to


class Command(ProjectCommand):
    help = "Write a whole project to a .zip that another instance can import. It contains notes, so keep it safe."
    needs = Can.ARCHIVE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("out", metavar="OUT", type=Path, help="New file, whose name ends with .zip.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        return export_to(project=project, out=options["out"], actor=actor)
