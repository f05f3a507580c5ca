from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project
from annotations.models import User
from models_runtime.refining.services.relexicalizing.model_scores import score_surrogates


class Command(JourneyCommand):
    help = "Compare a model's F1 on the released text with its F1 on the original text, and store both in the release."
    needs = Can.RELEASE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        parser.add_argument("--release", required=True, type=int, metavar="NUMBER", help="A prepared release.")
        parser.add_argument(
            "--run-backend", required=True, metavar="BACKEND", help="A backend such as rules, or a model's name."
        )
        parser.add_argument("--notes", type=int, metavar="N", help="Only the first N notes.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        return score_surrogates(
            project=find_project(options["project"]),
            number=options["release"],
            backend=options["run_backend"],
            most_notes=options["notes"],
            actor=actor,
        )

    def say(self, result: dict[str, Any]) -> str:
        original, released, difference = (_figure(result[name]) for name in ("original", "released", "difference"))
        return f"{result['notes']} notes. F1 original: {original}, released: {released}, difference: {difference}."


def _figure(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"
