from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.agreement.services.amending import amend
from annotations.core.access import Access, Can
from annotations.core.commands import JourneyCommand, entered, find_note, find_project, read_text
from annotations.core.errors import ServiceError
from annotations.models import Amendment, Document, User


class Command(JourneyCommand):
    help = (
        "Append a rule to the guidelines as a dated amendment, which begins the next round, or list the amendments, "
        "newest first. --by must name a manager."
    )
    needs = None

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        parser.add_argument("--from", dest="source", metavar="FILE", type=Path, help="Markdown file with the rule.")
        parser.add_argument(
            "--at", nargs=3, metavar=("NOTE", "START", "END"),
            help="The location (code points, END not included) that led to the rule.",
        )  # fmt: skip

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        access = entered(actor, project, Can.MANAGE if options["source"] else Can.SEE_PROJECT)
        if options["source"]:
            text = read_text(options["source"], "Nothing was changed.")
            location = _location(access, options["at"]) if options["at"] else None
            amend(
                project=access.project, text=text, actor=access.user, location=location,
                seen_version=access.project.guidelines_version,
            )  # fmt: skip
        elif options["at"]:
            raise ServiceError("--at must be used with --from FILE.", code="at")
        rows = Amendment.objects.filter(project=access.project).select_related("by").order_by("-number")
        return {"amendments": [_described(row) for row in rows]}

    def say(self, result: dict[str, Any]) -> str:
        lines = [f"{row['number']}  {row['at']}  {row['by']}: {row['text']}" for row in result["amendments"]]
        return "\n".join(lines) or "There are no amendments."


def _location(access: Access, words: list[str]) -> tuple[Document, int, int]:
    note = find_note(access, words[0])
    places = [int(word) for word in words[1:] if word.isascii() and word.isdigit()]
    if len(places) != 2 or not places[0] < places[1] <= note.length:
        raise ServiceError(
            f"--at needs START and END within the {note.length:,} characters of the note.", code="location"
        )
    return note, places[0], places[1]


def _described(row: Amendment) -> dict[str, Any]:
    return {
        "number": row.number,
        "text": row.text,
        "version": row.guidelines_version,
        "by": row.by.username if row.by else None,
        "at": row.at.isoformat(timespec="seconds"),
    }
