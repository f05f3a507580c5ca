from typing import Any

from django.core.management.base import CommandParser

from annotations.agreement.services.causes import change_cause
from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, entered, find_note, find_project
from annotations.models import Cause, User


class Command(JourneyCommand):
    help = (
        "Say what caused a disagreement between annotators, or remove that cause. The command disagreements lists the "
        "locations. --by must name a reviewer or a manager."
    )
    needs = None

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        parser.add_argument("note", metavar="NOTE", help="Name of a note.")
        parser.add_argument("start", metavar="START", type=int, help="First code point of the location.")
        parser.add_argument("end", metavar="END", type=int, help="End of the location, not included.")
        kinds = ", ".join(f"{kind.value} ({str(kind.label).lower()})" for kind in Cause.Kind)
        parser.add_argument("cause", metavar="CAUSE", choices=Cause.Kind.values, help=f"One of {kinds}.")
        parser.add_argument("--remove", action="store_true", help="Remove the cause from the location.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        access = entered(actor, find_project(options["project"]), Can.MAKE_GOLD)
        note, start, end = find_note(access, options["note"]), options["start"], options["end"]
        causes = change_cause(
            document=note, start=start, end=end, kind=options["cause"], present=not options["remove"], user=access.user
        )
        return {"note": note.name, "start": start, "end": end, "causes": causes}

    def say(self, result: dict[str, Any]) -> str:
        return f"{result['note']} {result['start']}-{result['end']}: {', '.join(result['causes']) or 'no cause'}."
