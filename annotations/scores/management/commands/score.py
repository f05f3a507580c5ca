from typing import Any, Final

from django.core.management.base import CommandParser

from annotations.agreement.rules.units import Granularity
from annotations.core.access import Can
from annotations.core.commands import ProjectCommand, authors_shown
from annotations.core.services import ServiceError
from annotations.core.tokenizers import KINDS, TOKENIZER_HELP
from annotations.gold.rules import Split
from annotations.models import Project, User
from annotations.scores.rules.published import REWRITTEN, counted_f1
from annotations.scores.rules.rewritten import CountingRule
from annotations.scores.rules.scorer import THRESHOLD
from annotations.scores.selectors import copied_in_text
from annotations.scores.services.errors import about_score
from annotations.scores.services.scoring import score, score_request
from annotations.text.names import MAX_OFFSET, whole_number

# What only --json prints.
TABLES: Final = ("confusion", "overlap", "classes", "all_or_nothing_pooled")


class Command(ProjectCommand):
    help = "Score an author's submitted annotations against gold. --json prints all figures."
    needs = Can.READ_NOTES
    counting = CountingRule.TOKENS
    attributes = False

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--gold", default="current", metavar="VERSION", help="Number of a version, or “current”.")
        about = "Author: NAME, annotator:NAME, run:NAME or adjudicated."
        parser.add_argument("--author", required=True, metavar="NAME", help=about)
        parser.add_argument("--split", default="", choices=["", *Split], help="Only notes of this split.")
        parser.add_argument("--into", default="", metavar="SET", help="Map to the labels of another label set.")
        about = f"Lowest similarity of texts with tolerance, from 0 to 1. Default: {THRESHOLD}."
        parser.add_argument("--threshold", default="", metavar="N", help=about)
        about = "All or nothing also for these labels and categories only: CODE, label:CODE or category:CODE."
        parser.add_argument("--types", default="", metavar="A,B,…", help=about)
        parser.add_argument("--tokenizer", default="", choices=["", *KINDS], help=TOKENIZER_HELP)
        parser.add_argument("--language", default="", metavar="CODE", help="Only notes in this language, such as it.")
        parser.add_argument("--unit", choices=["entity", "token"], help="Only the levels of this unit.")
        choices = [Granularity.BINARY, Granularity.CATEGORY, Granularity.SUBCATEGORY]
        parser.add_argument("--level", choices=choices, help="Only the levels of this granularity.")
        about = "How texts are counted in the rewritten text: whole tokens, or substrings (Miranda et al. 2025)."
        parser.add_argument("--counting", default=CountingRule.TOKENS, choices=list(CountingRule), help=about)
        parser.add_argument("--attributes", action="store_true", help="Also print the agreement of attributes.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        wanted = score_request(
            project, version=_number(options["gold"]), author=options["author"], among=authors_shown(actor, project),
            types=[one.strip() for one in options["types"].split(",") if one.strip()],
            **{name: options[name] for name in ("split", "into", "threshold", "tokenizer", "language")},
        )  # fmt: skip
        self.counting, self.attributes = CountingRule(options["counting"]), options["attributes"]
        found = score(wanted)
        levels = [
            level
            for level in found.table["levels"]
            if options["unit"] in (None, level["unit"]) and options["level"] in (None, level["granularity"])
        ]
        return {**found.table, "levels": levels, **about_score(wanted, found)}

    def say(self, result: dict[str, Any]) -> str:
        """Figures without tables, and why they may be too good; of the rewritten text by one rule, beside published."""
        by_substring = self.counting == CountingRule.SUBSTRING
        self.json_only = [*TABLES, "rewritten" if by_substring else "rewritten_substring"]
        self.json_only += [] if self.attributes else ["attributes"]
        lines = [super().say(result | ({f"published, {REWRITTEN.source}": counted_f1()} if by_substring else {}))]
        if n := result["notes_learned_from"]:
            lines.append(f"The model learned from {n} of these notes, so its figures are too optimistic.")
        if n := result["own_gold_spans"]:
            lines.append(copied_in_text(n, result["author"], merged=result["merged"]))
        return "\n".join(lines)


def _number(gold: str) -> int:
    if gold == "current":
        return 0
    found = whole_number(gold, MAX_OFFSET)
    if not found:
        message = f"“{gold}” is not a gold version. Give the number of a version, or “current”."
        raise ServiceError(message, code="version")
    return found
