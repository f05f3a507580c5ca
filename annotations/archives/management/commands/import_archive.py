from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.archives.services.reading import import_archive
from annotations.core.commands import JourneyCommand
from annotations.core.errors import ServiceError
from annotations.models import User


class Command(JourneyCommand):
    help = (
        "Make a new project from an archive. People are matched with accounts by user name; others get an inactive "
        "account without a password."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="Archive written by export_archive.")
        parser.add_argument("--as", dest="slug", metavar="SLUG", default="", help="Short name of the new project.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        try:
            with options["file"].open("rb") as file:
                imported = import_archive(file=file, slug=options["slug"], actor=actor)
        except OSError as error:
            raise ServiceError(f"Can't read “{options['file']}”: {error.strerror}.", code="path") from error
        return {"project": imported.slug, **{key: n for key, n in imported._asdict().items() if key != "slug"}}

    def say(self, result: dict[str, Any]) -> str:
        return (
            f"Imported project {result['project']}: {result['notes']:,} notes, {result['sets']:,} annotation sets, "
            f"{result['spans']:,} spans. People: {result['people']:,}, of whom {result['accounts']:,} got a new, "
            "inactive account."
        )
