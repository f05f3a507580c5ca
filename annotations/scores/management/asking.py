"""What the commands of scores share: the options that say which score, and looking it up."""

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.commands import JourneyCommand, authors_shown, find_project
from annotations.core.errors import ServiceError
from annotations.core.tokenizers import KINDS, TOKENIZER_HELP
from annotations.gold.rules import Split
from annotations.models import User
from annotations.scores.rules.scorer import THRESHOLD
from annotations.scores.services.scoring import ScoreRequest, score_request
from annotations.text.names import MAX_OFFSET, whole


class ScoreCommand(JourneyCommand):
    """A command about one score of an author against gold."""

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
        parser.add_argument(
            "--threshold", default="", metavar="N",
            help=f"Lowest similarity of texts with tolerance, from 0 to 1. Default: {THRESHOLD}.",
        )  # fmt: skip
        parser.add_argument(
            "--types", default="", metavar="A,B,…",
            help="All or nothing also for these labels and categories only: CODE, label:CODE or category:CODE.",
        )  # fmt: skip
        parser.add_argument("--tokenizer", default="", choices=["", *KINDS], help=TOKENIZER_HELP)
        parser.add_argument("--language", default="", metavar="CODE", help="Only notes in this language, such as it.")


def asked_score(actor: User | None, options: Mapping[str, Any]) -> ScoreRequest:
    """Return the score that the options name, of an author whom the person of --by may see. Raises ServiceError."""
    project = find_project(options["project"])
    return score_request(
        project,
        version=_number(options["gold"]),
        author=options["author"],
        split=options["split"],
        into=options["into"],
        threshold=options["threshold"],
        tokenizer=options["tokenizer"],
        language=options["language"],
        types=[one.strip() for one in options["types"].split(",") if one.strip()],
        among=authors_shown(actor, project),
    )


def _number(gold: str) -> int:
    if gold == "current":
        return 0
    found = whole(gold, MAX_OFFSET)
    if not found:
        raise ServiceError(
            f"“{gold}” is not a gold version. Give the number of a version, or “current”.", code="version"
        )
    return found
