import math
from typing import Any

from django.core.management.base import CommandParser

from annotations.agreement.services.adjudication.deciding import finish_unanimous
from annotations.agreement.services.comparing import bring_up_to_date
from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, entered, find_project
from annotations.models import User


class Command(JourneyCommand):
    help = (
        "Finish the adjudication of all notes on which the annotators agree, in a project that accepts unanimous "
        "annotations. --by must name a reviewer or a manager."
    )
    needs = None

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        access = entered(actor, find_project(options["project"]), Can.MAKE_GOLD)
        bring_up_to_date(access.project)
        done, left = finish_unanimous(project=access.project, user=access.user, seconds=math.inf)
        return {"finished": done, "left": left}

    def say(self, result: dict[str, Any]) -> str:
        return f"Finished {result['finished']} unanimous notes. Left for an adjudicator: {result['left']}."
