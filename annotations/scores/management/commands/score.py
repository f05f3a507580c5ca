from typing import Any

from django.core.management.base import CommandParser

from annotations.core.commands import JourneyCommand, find_project
from annotations.core.errors import ServiceError
from annotations.domain.agreement import Granularity
from annotations.domain.numbers import MAX_OFFSET, whole
from annotations.domain.splits import Side
from annotations.models import User
from annotations.scores.services.scoring import asked, score


class Command(JourneyCommand):
    help = "Score an author's submitted readings against gold: the same figures as the page, all of them with --json."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("--gold", default="current", metavar="VERSION", help="a version's number, or current")
        parser.add_argument(
            "--author", required=True, metavar="NAME", help="NAME, annotator:NAME, run:NAME, adjudicated"
        )
        parser.add_argument("--split", default="", choices=["", *Side], help="only these notes of a version's split")
        parser.add_argument("--into", default="", metavar="SET", help="score in another label set's labels")
        parser.add_argument("--unit", choices=["entity", "token"], help="only this unit's levels")
        parser.add_argument(
            "--level",
            choices=[Granularity.BINARY, Granularity.CATEGORY, Granularity.SUBCATEGORY],
            help="only the levels of this granularity",
        )

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        wish = asked(
            find_project(options["project"]),
            version=_number(options["gold"]),
            author=options["author"],
            split=options["split"],
            into=options["into"],
        )
        table = dict(score(wish).table)
        table["levels"] = [
            level
            for level in table["levels"]
            if options["unit"] in (None, level["unit"]) and options["level"] in (None, level["granularity"])
        ]
        return table

    def say(self, result: dict[str, Any]) -> str:
        head = f"{result['author']} against gold {result['gold']}, {result['notes']} notes"
        if result["split"]:
            head += f" of {result['split']}"
        lines = [head]
        for level in result["levels"]:
            figures = " · ".join(
                f"{name} {_shown(level['micro'][key])}"
                for name, key in (("P", "precision"), ("R", "recall"), ("F1", "f1"))
            )
            lines.append(f"{level['unit']:6} {level['granularity']:11} {figures}")
        counted = result["rewritten"]["micro"]
        lines.append(
            f"rewritten text, counted: P {_shown(counted['precision'])} · R {_shown(counted['recall'])} · "
            f"F1 {_shown(counted['f1'])} ({counted['tp']} gone, {counted['fn']} left, {counted['fp']} too many)"
        )
        residual = result["residual"]
        if residual["share"] is not None:
            lines.append(
                f"{residual['with_miss']} of {residual['notes']} notes show at least one span that was missed: "
                f"{residual['share']:.1%} (95 % interval {residual['low']:.1%} to {residual['high']:.1%})"
            )
        if result["own_gold_spans"]:
            lines.append(f"{result['own_gold_spans']} gold spans were taken over from this author: the figures flatter")
        lines += [f"left out: {n} ({why})" for why, n in result["left_out"].items() if n]
        return "\n".join(lines)


def _number(gold: str) -> int:
    if gold == "current":
        return 0
    found = whole(gold, MAX_OFFSET)
    if not found:
        raise ServiceError(f"{gold!r} is neither a version's number nor 'current'", code="version")
    return found


def _shown(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"
