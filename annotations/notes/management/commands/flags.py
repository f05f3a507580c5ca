from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, entered, find_note, find_project
from annotations.core.errors import ServiceError
from annotations.models import Flag, User
from annotations.notes.selectors.flags import flags_of
from annotations.notes.services.flags import clear_flag, raise_flag
from annotations.text.numbers import MAX_ID


class Command(JourneyCommand):
    help = "List the open flags of a note that the person of --by may see, flag the note, or remove a flag."
    needs = None

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        parser.add_argument("note", metavar="NOTE", help="Name of a note that the person may open.")
        act = parser.add_mutually_exclusive_group()
        act.add_argument(
            "--raise", dest="reason", choices=Flag.Reason.values,
            help="Flag the note, or change the reason of one's own flag. “other” needs --text.",
        )  # fmt: skip
        act.add_argument("--clear", type=int, metavar="ID", help="Remove a flag: one's own, or any as a reviewer.")
        parser.add_argument("--text", help="With --raise: what the problem is, without identifiers.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        changes = options["reason"] is not None or options["clear"] is not None
        project = find_project(options["project"])
        access = entered(actor, project, Can.ANNOTATE if changes else Can.SEE_PROJECT)
        note = find_note(access, options["note"])
        if options["text"] is not None and options["reason"] is None:
            raise ServiceError("--text must be used with --raise REASON.", code="text")
        if options["reason"] is not None:
            raise_flag(access=access, document=note, reason=options["reason"], text=options["text"] or "")
        elif options["clear"] is not None:
            if not 0 < options["clear"] <= MAX_ID:
                raise ServiceError("There is no such flag. List them without options.", code="gone")
            clear_flag(access=access, document=note, flag=options["clear"])
        return {"note": note.name, "flags": flags_of(access, note)}

    def say(self, result: dict[str, Any]) -> str:
        lines = [f"{each['id']}  {each['by']}: {each['why']} {each['text']}".strip() for each in result["flags"]]
        return "\n".join(lines) or "There are no open flags."
