from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand, entered, find_note
from annotations.core.services import ServiceError
from annotations.gold.services.making import withdraw_gold
from annotations.models import Project, User


class Command(ProjectCommand):
    help = (
        "Remove the gold of notes: of all named notes, or of none. Frozen versions keep their copy, and the audit log "
        "keeps the spans. --by must name a reviewer or a manager."
    )
    needs = None

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("notes", metavar="NOTE", nargs="+", help="Name of a note.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        access = entered(actor, project, Can.MAKE_GOLD)
        names = list(dict.fromkeys(options["notes"]))
        with transaction.atomic():
            for document in sorted((find_note(access, name) for name in names), key=lambda each: each.pk):
                try:
                    withdraw_gold(document=document, actor=access.user)
                except ServiceError as error:
                    raise ServiceError(f"{document.name}: {error} Nothing was changed.", code=error.code) from error
        return {"withdrawn": names}
