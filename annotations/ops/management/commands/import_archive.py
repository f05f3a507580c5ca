from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.commands import JourneyCommand, RequiredStanding
from annotations.models import User
from annotations.ops.services.archives.reading import import_from


class Command(JourneyCommand):
    help = (
        "Make a new project from an archive. The work of its people is marked as imported, and none of them becomes a "
        "member. --by becomes the manager; without it, add one with add_member."
    )
    needs = RequiredStanding.CREATE_PROJECTS

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="Archive written by export_archive.")
        parser.add_argument("--as", dest="slug", metavar="SLUG", default="", help="Short name of the new project.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        return import_from(path=options["file"], slug=options["slug"], actor=actor)
