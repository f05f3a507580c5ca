from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project
from annotations.core.errors import ServiceError
from annotations.core.tokenizers import KINDS
from annotations.gold.selectors import frozen_version
from annotations.gold.services.statistics import statistics_of, table_of
from annotations.models import User


class Command(JourneyCommand):
    help = (
        "Count the notes, tokens and spans of a frozen gold version, with tokens per note, spans per note and tokens "
        "per span, by split, label and category."
    )
    needs = Can.READ_NOTES

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("--gold", type=int, metavar="VERSION", help="A frozen version. Default: the newest.")
        parser.add_argument(
            "--tokenizer", default="", choices=["", *KINDS],
            help="Tokenizer for the language of each note (Catelli 2021: spaCy's). Without it, the default rule.",
        )  # fmt: skip

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        if options["gold"] is not None:
            version = frozen_version(project, options["gold"])
        elif (newest := project.gold_versions.order_by("-number").first()) is not None:
            version = newest
        else:
            raise ServiceError(
                "No gold version is frozen yet. Freeze one with “manage.py freeze_gold”.", code="version"
            )
        parts = statistics_of(version, tokenizer=options["tokenizer"])
        return table_of(version, parts, options["tokenizer"])

    def say(self, result: dict[str, Any]) -> str:
        tokens = f" (tokens: {result['tokenizer']})" if result["tokenizer"] else ""
        lines = [f"Gold version {result['version']}{tokens}:"]
        for split, part in result["splits"].items():
            lines.append(
                f"  {split}: {part['notes']} notes, {part['tokens']} tokens, {part['spans']} spans; "
                f"{_short(part['tokens_per_note'])} tokens per note, {_short(part['spans_per_note'])} spans per note, "
                f"{_short(part['tokens_per_span'])} tokens per span; BIO tags per note: "
                + ", ".join(f"{tag} {_short(n)}" for tag, n in part["tags_per_note"].items())
            )
        lines.append("Spans (spans per note, tokens per span):")
        for row in [*result["labels"], *result["categories"]]:
            name = f"{row['category']}: {row['label']}" if row.get("category") and "label" in row else None
            cells = ", ".join(_said(split, cell) for split, cell in row["splits"].items())
            lines.append(f"  {name or row.get('label') or row['category']}: {cells}")
        return "\n".join(lines)


def _said(split: str, cell: dict[str, Any]) -> str:
    return f"{split} {cell['spans']} ({_short(cell['spans_per_note'])}, {_short(cell['tokens_per_span'])})"


def _short(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
