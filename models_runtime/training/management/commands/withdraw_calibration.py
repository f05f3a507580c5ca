from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project
from annotations.core.errors import ServiceError
from annotations.models import User
from models_runtime.models import Calibration
from models_runtime.training.services.calibration import withdraw


class Command(JourneyCommand):
    help = (
        "Withdraw a calibration. New runs use the previous calibration of the backend, if there is one; the confidence "
        "of existing runs stays."
    )
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        parser.add_argument("calibration", metavar="CALIBRATION", help="Name of the calibration, such as cal-1a2b3c4d.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project, name = find_project(options["project"]), options["calibration"]
        rows = {row.word: row for row in Calibration.objects.filter(project=project).order_by("pk")}
        if name not in rows:
            raise ServiceError(
                f"There is no calibration “{name[:40]}”. Calibrations: {', '.join(rows) or 'none'}.",
                code="calibration",
            )
        withdraw(calibration=rows[name], actor=actor)
        return {"calibration": name, "backend": rows[name].backend, "withdrawn": True}

    def say(self, result: dict[str, Any]) -> str:
        return f"The calibration {result['calibration']} of {result['backend']} is withdrawn."
