from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from annotations.agreement.services.adjudication.deciding import reopen
from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, entered, find_note, find_project
from annotations.core.errors import ServiceError
from annotations.models import Author, User


class Command(JourneyCommand):
    help = (
        "Reopen finished adjudications of notes: of all named notes, or of none. Decisions stay, and gold made from "
        "them doesn't change. --by must name a reviewer or a manager."
    )
    needs = None

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        parser.add_argument("notes", metavar="NOTE", nargs="+", help="Name of a note.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        access = entered(actor, find_project(options["project"]), Can.MAKE_GOLD)
        names = list(dict.fromkeys(options["notes"]))
        with transaction.atomic():
            for note in sorted((find_note(access, name) for name in names), key=lambda each: each.pk):
                if not note.annotation_sets.filter(author__kind=Author.Kind.ADJUDICATED).exists():
                    raise ServiceError(f"{note.name}: This note has no adjudication. Nothing was changed.", code="none")
                reopen(project=access.project, document=note, user=access.user)
        return {"open": names}

    def say(self, result: dict[str, Any]) -> str:
        return f"Adjudications are open in {len(result['open'])} notes."
