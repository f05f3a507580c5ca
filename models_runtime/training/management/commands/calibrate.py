from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand
from annotations.models import Project, User
from models_runtime.training.services.calibration import calibrate, summary

EXCLUDED = {"test": "Excluded notes of the test split", "learned": "Excluded notes that the model was trained on"}


class Command(ProjectCommand):
    help = "Calibrate the confidence of a backend with one of its runs and a gold version. New runs use the result."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--run", required=True, metavar="NAME", help="Name of the run.")
        parser.add_argument("--gold", type=int, required=True, metavar="N", help="Number of the gold version.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        return summary(calibrate(project=project, run=options["run"], gold=options["gold"], actor=actor))

    def say(self, result: dict[str, Any]) -> str:
        lines = [
            f"Calibrated {result['backend']} on {result['spans']} spans of {result['run']} in {result['notes']} notes "
            f"of gold {result['gold']}: {result['calibration']}",
            *(f"{name}: {was['before']:.4f} raw, {was['after']:.4f} calibrated" for name, was in _errors(result)),
        ]
        if result["own_gold_spans"]:
            lines.append(
                f"{result['own_gold_spans']} gold spans were adopted from this run, so the figures are too optimistic."
            )
        lines += [f"{EXCLUDED[reason]}: {n}" for reason, n in result["left_out"].items() if n]
        return "\n".join(lines)


def _errors(result: dict[str, Any]) -> list[tuple[str, dict[str, float]]]:
    return [("Calibration error (ECE)", result["ece"]), ("Brier score", result["brier"])]
