from typing import Any

from django.core.management.base import CommandParser

from annotations.management.journey import JourneyCommand, find_project
from annotations.models import User
from annotations.services.gold import freeze


class Command(JourneyCommand):
    help = "Freeze the gold set as its next version. When nothing has changed since the last one, that one is named."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("--reason", default="", help="why, for the list of versions")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        version, new = freeze(project=find_project(options["project"]), actor=actor, reason=options["reason"])
        return {
            "version": version.number,
            "new": new,
            "hash": version.content_hash,
            "notes": version.note_count,
            "spans": version.span_count,
        }

    def say(self, result: dict[str, Any]) -> str:
        word = "frozen" if result["new"] else "unchanged since"
        return (
            f"{word} gold version {result['version']}: {result['notes']} notes, {result['spans']} spans, "
            f"sha256 {result['hash']}"
        )
