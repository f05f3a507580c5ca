from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand
from annotations.models import Project, User
from annotations.release.services.surrogates.makers import checked_maker
from annotations.release.services.surrogates.making import fill_index


class Command(ProjectCommand):
    help = (
        "Fill the index of surrogates for an annotation set before a release, and measure it: preservation, "
        "consistency, collisions, and originals that are left."
    )
    needs = Can.RELEASE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--set", default="gold", metavar="WHICH", help="Annotations: gold[:VERSION], run:NAME.")
        parser.add_argument("--model", default="", metavar="SERVER/MODEL", help="A language model; rules without it.")
        parser.add_argument("--may-leave", action="store_true", help="Notes may be sent to the server's machine.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        maker = checked_maker(project, options["model"], may_leave=options["may_leave"])
        return fill_index(project=project, set_spec=options["set"], maker=maker)
