from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand, authors_shown, lines_of
from annotations.gold.rules import Split
from annotations.models import Project, User
from annotations.scores.services.side_by_side import comparison_request
from models_runtime.runs.services.comparing import as_dict


class Command(ProjectCommand):
    help = "Compare runs and annotators with gold, on the notes that all of them have annotated."
    needs = Can.READ_NOTES

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--gold", type=int, default=0, metavar="N", help="Gold version. Default: current gold.")
        about = "2 to 6 names, separated by commas: NAME, run:NAME, annotator:NAME."
        parser.add_argument("--runs", required=True, metavar="A,B,…", help=about)
        parser.add_argument("--split", default="", choices=["", *Split], help="Only notes of this split.")

        parser.add_argument("--language", default="", metavar="CODE", help="Only notes in this language, such as it.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        names = [name.strip() for name in options["runs"].split(",") if name.strip()]
        part = {"version": options["gold"], "split": options["split"], "language": options["language"]}
        return as_dict(comparison_request(project, names=names, among=authors_shown(actor, project), **part))

    def say(self, result: dict[str, Any]) -> str:
        """The figures as a table with a column for each run, then all other values. * marks the best figure.

        Only `--json` has the reviews by threshold.
        """
        names, runs = result["names"], result["runs"]
        lines = [" " * 42 + "".join(f"{run['run'][:18]:>20}" for run in runs)]
        for key, name in names.items():
            cells = (f"{_shown(run[key])}{'*' if run['run'] in result['best'][key] else ' '}" for run in runs)
            lines.append(f"{name:42}" + "".join(f"{cell:>20}" for cell in cells))
        others = [{key: value for key, value in run.items() if key not in names and key != "review"} for run in runs]
        rest = {key: value for key, value in result.items() if key not in ("names", "best")} | {"runs": others}
        return "\n".join([*lines, *lines_of(rest)])


def _shown(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"
