from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, authors_shown, find_project
from annotations.gold.rules import Split
from annotations.models import User
from annotations.scores.rules.intervals import in_text
from annotations.scores.selectors import copied_in_text
from annotations.scores.services.side_by_side import comparison_request
from models_runtime.runs.services.comparing import as_dict


class Command(JourneyCommand):
    help = "Compare runs and annotators with gold, on the notes that all of them have annotated."
    needs = Can.READ_NOTES

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument(
            "--gold", type=int, default=0, metavar="N", help="Number of the gold version. Default: current gold."
        )
        parser.add_argument(
            "--runs",
            required=True,
            metavar="A,B,…",
            help="2 to 6 names, separated by commas: NAME, run:NAME, annotator:NAME.",
        )
        parser.add_argument("--split", default="", choices=["", *Split], help="Only these notes of a version's split.")

        parser.add_argument("--language", default="", metavar="CODE", help="Only notes in this language, such as it.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        names = [name.strip() for name in options["runs"].split(",") if name.strip()]
        part = {"version": options["gold"], "split": options["split"], "language": options["language"]}
        return as_dict(comparison_request(project, names=names, among=authors_shown(actor, project), **part))

    def say(self, result: dict[str, Any]) -> str:
        runs = result["runs"]
        lines = [
            f"{result['notes']} notes{_language(result)}, compared with gold {result['gold']}. "
            "* marks the best figure.",
            f"{'':42}" + "".join(f"{run['run'][:18]:>20}" for run in runs),
        ]
        for key, best in result["best"].items():
            cells = (f"{_shown(run[key])}{'*' if run['run'] in best else ' '}" for run in runs)
            lines.append(f"{result['names'][key]:42}" + "".join(f"{cell:>20}" for cell in cells))
        lines += [
            f"Few notes. F1 of exact spans and labels of {run['run']}: {in_text(run['few_notes'])}"
            for run in runs
            if run["few_notes"]
        ]
        lines.append(
            f"Gold spans missed by all: {result['missed_by_all']}, of which marked by none: {result['untouched']}"
        )
        lines += [f"Gold spans found only by {run['run']}: {run['found_only_here']}" for run in runs]
        lines += [
            f"The model of {run['run']} was trained on {run['notes_learned_from']} of these notes, so its figures are "
            "too optimistic."
            for run in runs
            if run["notes_learned_from"]
        ]
        lines += [
            f"Masking threshold of {run['run']}: {run['masking_threshold']:g}"
            for run in runs
            if run["masking_threshold"] is not None
        ]
        lines += [
            copied_in_text(run["own_gold_spans"], run["run"], merged=run["merged"])
            for run in runs
            if run["own_gold_spans"]
        ]
        return "\n".join(lines)


def _language(result: dict[str, Any]) -> str:
    return f" in {result['language']}" if result["language"] else ""


def _shown(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"
