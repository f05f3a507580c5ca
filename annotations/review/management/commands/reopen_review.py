from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, entered, find_note, find_project
from annotations.core.errors import ServiceError
from annotations.gold.services.sets import wanted_set
from annotations.models import User
from annotations.review.services.finishing import reopen_review


class Command(JourneyCommand):
    help = (
        "Reopen finished reviews of a run in notes: in all named notes, or in none. Their gold counts as before until "
        "somebody changes it. --by must name a reviewer or a manager."
    )
    needs = None

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        parser.add_argument("run", metavar="RUN", help="Name or ID of the run.")
        parser.add_argument("notes", metavar="NOTE", nargs="+", help="Name of a note.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        access = entered(actor, find_project(options["project"]), Can.MAKE_GOLD)
        author = wanted_set(access.project, f"run:{options['run'].removeprefix('run:')}").author
        if author is None:
            raise ServiceError(f"There is no run “{options['run']}”.", code="set")
        names = list(dict.fromkeys(options["notes"]))
        with transaction.atomic():
            for note in sorted((find_note(access, name) for name in names), key=lambda each: each.pk):
                if not note.annotation_sets.filter(author=author, state="submitted").exists():
                    raise ServiceError(
                        f"{note.name}: “{author.name}” has no suggestions here. Nothing was changed.", code="set"
                    )
                try:
                    reopen_review(document=note, author=author, user=access.user)
                except ServiceError as error:
                    raise ServiceError(f"{note.name}: {error} Nothing was changed.", code=error.code) from error
        return {"run": author.name, "open": names}

    def say(self, result: dict[str, Any]) -> str:
        return f"Reviews of {result['run']} are open in {len(result['open'])} notes."
