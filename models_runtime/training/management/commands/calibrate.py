from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand
from annotations.models import Project, User
from models_runtime.training.services.calibration import calibrate, summary


class Command(ProjectCommand):
    help = "Calibrate the confidence of a backend with one of its runs and a gold version. New runs use the result."
    needs = Can.MANAGE
    json_only = ("curves",)

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--run", required=True, metavar="NAME", help="Name of the run.")
        parser.add_argument("--gold", type=int, required=True, metavar="N", help="Number of the gold version.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        return summary(calibrate(project=project, run=options["run"], gold=options["gold"], actor=actor))
