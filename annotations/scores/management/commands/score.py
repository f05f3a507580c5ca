from typing import Any

from django.core.management.base import CommandParser

from annotations.core.commands import JourneyCommand, find_project
from annotations.core.errors import ServiceError
from annotations.domain.agreement import Granularity
from annotations.domain.numbers import MAX_OFFSET, whole
from annotations.domain.scoring.intervals import in_text
from annotations.domain.splits import Split
from annotations.models import User
from annotations.scores.selectors import LEVELS, copied_in_text
from annotations.scores.services.error_table import error_lines, error_table
from annotations.scores.services.scoring import score, score_request

EXCLUDED = {
    "drafts": "Excluded gold notes whose annotations are drafts",
    "unread": "Excluded gold notes without annotations by this author",
    "no_gold": "Excluded notes with annotations but without gold",
}


class Command(JourneyCommand):
    help = "Score an author's submitted annotations against gold. --json prints all figures."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("--gold", default="current", metavar="VERSION", help="Number of a version, or “current”.")
        parser.add_argument(
            "--author", required=True, metavar="NAME", help="Author: NAME, annotator:NAME, run:NAME or adjudicated."
        )
        parser.add_argument(
            "--split", default="", choices=["", *Split], help="Only the notes of this split of the version."
        )
        parser.add_argument("--into", default="", metavar="SET", help="Map to the labels of another label set.")
        parser.add_argument("--unit", choices=["entity", "token"], help="Only the levels of this unit.")
        parser.add_argument(
            "--level",
            choices=[Granularity.BINARY, Granularity.CATEGORY, Granularity.SUBCATEGORY],
            help="Only the levels of this granularity.",
        )

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        wanted = score_request(
            find_project(options["project"]),
            version=_number(options["gold"]),
            author=options["author"],
            split=options["split"],
            into=options["into"],
        )
        found = score(wanted)
        table = found.table
        levels = [
            level
            for level in table["levels"]
            if options["unit"] in (None, level["unit"]) and options["level"] in (None, level["granularity"])
        ]
        return {**table, "levels": levels, "errors_by_category": error_table(wanted, found)}

    def say(self, result: dict[str, Any]) -> str:
        notes = (
            f"{result['notes']} notes of the split {result['split']}" if result["split"] else f"{result['notes']} notes"
        )
        lines = [f"Scores of {result['author']} against gold {result['gold']} on {notes}"]
        for level in result["levels"]:
            figures = " · ".join(
                f"{name} {_shown(level['micro'][key])}"
                for name, key in (("precision", "precision"), ("recall", "recall"), ("F1", "f1"))
            )
            lines.append(f"{LEVELS[level['unit'], level['granularity']]}: {figures}")
        if result["few_notes"]:
            lines.append(f"Few notes. F1 of exact spans: {in_text(result['few_notes'])}")
        lines += error_lines(result["errors_by_category"])
        counted = result["rewritten"]["micro"]
        lines.append(
            f"Rewritten text: precision {_shown(counted['precision'])} · recall {_shown(counted['recall'])} · "
            f"F1 {_shown(counted['f1'])} ({counted['tp']} removed, {counted['fn']} remaining, {counted['fp']} extra)"
        )
        residual = result["residual"]
        if residual["share"] is not None:
            lines.append(
                f"Notes with a missed span: {residual['with_miss']} of {residual['notes']}, {residual['share']:.1%} "
                f"(95% interval {residual['low']:.1%} to {residual['high']:.1%})"
            )
        if result["own_gold_spans"]:
            lines.append(copied_in_text(result["own_gold_spans"], result["author"], merged=result["merged"]))
        lines += [f"{EXCLUDED[reason]}: {n}" for reason, n in result["left_out"].items() if n]
        return "\n".join(lines)


def _number(gold: str) -> int:
    if gold == "current":
        return 0
    found = whole(gold, MAX_OFFSET)
    if not found:
        raise ServiceError(
            f"“{gold}” is not a gold version. Give the number of a version, or “current”.", code="version"
        )
    return found


def _shown(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"
