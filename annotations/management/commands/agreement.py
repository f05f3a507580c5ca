from typing import Any

from django.core.management.base import CommandParser

from annotations.domain.agreement import Granularity, Unit
from annotations.management.journey import JourneyCommand, find_project
from annotations.models import User
from annotations.selectors.agreement import project_agreement
from annotations.services.errors import ServiceError


class Command(JourneyCommand):
    help = "Observed agreement and Krippendorff's alpha over the submitted, blind readings of a project's annotators."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("--unit", choices=list(Unit), default=Unit.TOKEN)
        parser.add_argument("--granularity", choices=list(Granularity), default=Granularity.SUBCATEGORY)

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        try:
            return project_agreement(
                find_project(options["project"]),
                unit=Unit(options["unit"]),
                granularity=Granularity(options["granularity"]),
            )
        except ValueError as error:
            raise ServiceError(str(error), code="granularity") from error

    def say(self, result: dict[str, Any]) -> str:
        head = f"{result['unit']} · {result['granularity']} · {result['units']} units in {result['notes']} notes"
        if result["observed"] is None:
            return f"{head}: undefined, {result['undefined']}"
        alpha = f"undefined ({result['undefined']})" if result["alpha"] is None else f"{result['alpha']:.4f}"
        words = f" ({result['words']})" if result["words"] else ""
        return f"{head}, {result['annotators']} annotators: observed {result['observed']:.4f}, alpha {alpha}{words}"
