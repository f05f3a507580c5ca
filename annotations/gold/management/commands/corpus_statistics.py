from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand
from annotations.core.tokenizers import KINDS
from annotations.gold.selectors import frozen_version
from annotations.gold.services.statistics import statistics_of, table_of
from annotations.models import Project, User


class Command(ProjectCommand):
    help = (
        "Count the notes, tokens and spans of a frozen gold version, with tokens per note, spans per note and tokens "
        "per span, by split, label and category."
    )
    needs = Can.READ_NOTES

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--gold", type=int, metavar="VERSION", help="A frozen version. Default: the newest.")
        parser.add_argument(
            "--tokenizer", default="", choices=["", *KINDS],
            help="Tokenizer for the language of each note (Catelli 2021: spaCy's). Without it, the default rule.",
        )  # fmt: skip

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        newest = project.gold_versions.order_by("-number").values_list("number", flat=True).first()
        version = frozen_version(project, newest or 0 if options["gold"] is None else options["gold"])
        return table_of(version, statistics_of(version, tokenizer=options["tokenizer"]), options["tokenizer"])
