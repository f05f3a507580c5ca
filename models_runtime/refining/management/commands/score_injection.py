from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project
from annotations.models import User
from models_runtime.refining.services.injecting.scoring import find_injected, find_refiner, score_injection


class Command(JourneyCommand):
    help = "Count the injected errors that an author caught, and the gold spans that the author changed."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("run", metavar="RUN", help="Name of the run with injected errors.")
        parser.add_argument("--author", required=True, metavar="AUTHOR", help="Who refined or reviewed the run.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        run = find_injected(project, options["run"])
        return score_injection(run, find_refiner(run, options["author"])).as_json()

    def say(self, result: dict[str, Any]) -> str:
        lines = [
            f"{result['author']} on {result['run']}: caught {_share(result, 'caught', 'injected', 'share')}"
            f"{_interval(result)}, {result['lost']} identifiers lost",
            f"Collateral: {_share(result, 'collateral', 'untouched', 'collateral_share')} untouched gold spans changed",
        ]
        lines += [
            f"  {rule:26} {_share(row, 'caught', 'injected', 'share')}{_interval(row)}"
            for rule, row in result["by_rule"].items()
        ]
        if result["left_out"]:
            lines.append(f"Notes that {result['author']} has not submitted, left out: {result['left_out']}")
        return "\n".join(lines)


def _share(row: dict[str, Any], hits: str, of: str, share: str) -> str:
    shown = "undefined" if row[share] is None else f"{row[share]:.2%}"
    return f"{row[hits]} of {row[of]} ({shown})"


def _interval(row: dict[str, Any]) -> str:
    return "" if row["interval"] is None else f", 95% interval {row['interval'][0]:.1%} to {row['interval'][1]:.1%}"
