from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import entered, find_project
from annotations.models import Cause, User
from annotations.scores.management.asking import ScoreCommand, asked_score
from annotations.scores.services.causes import change_error_cause
from annotations.scores.services.scoring import score


class Command(ScoreCommand):
    help = (
        "Say what caused an error of a score, or remove that cause. The command score_errors lists the errors. --by "
        "must name a reviewer or a manager."
    )
    needs = None

    def arguments(self, parser: CommandParser) -> None:
        super().arguments(parser)
        parser.add_argument("error", metavar="ERROR", help="The error, as score_errors names it.")
        kinds = ", ".join(f"{kind.value} ({str(kind.label).lower()})" for kind in Cause.Kind)
        parser.add_argument("cause", metavar="CAUSE", choices=Cause.Kind.values, help=f"One of {kinds}.")
        parser.add_argument("--remove", action="store_true", help="Remove the cause from the error.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        access = entered(actor, find_project(options["project"]), Can.MAKE_GOLD)
        wanted = asked_score(access.user, options)
        causes = change_error_cause(
            wanted=wanted, found=score(wanted), error=options["error"], kind=options["cause"],
            present=not options["remove"], user=access.user,
        )  # fmt: skip
        return {"error": options["error"], "causes": sorted(causes)}

    def say(self, result: dict[str, Any]) -> str:
        return f"{result['error']}: {', '.join(result['causes']) or 'no cause'}."
