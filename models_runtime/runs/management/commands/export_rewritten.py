from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import LinesCommand, find_project
from annotations.core.errors import ServiceError
from annotations.models import Project, User
from models_runtime.models import Run
from models_runtime.runs.services.rewritten_notes import export_rewritten


class Command(LinesCommand):
    help = "Write the rewritten notes of a run as JSON Lines: original, de-identified text, and the prompt if asked."
    needs = Can.EXPORT

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("run", metavar="RUN", help="Name of a run with the strategy rewrite.")
        parser.add_argument("--prompt", action="store_true", help="Add the prompt to each line.")
        super().arguments(parser)

    def lines(self, actor: User | None, **options: Any) -> Iterable[str]:
        project = find_project(options["project"])
        run = _find(project, options["run"])
        return export_rewritten(run=run, prompt=options["prompt"], actor=actor)[0]


def _find(project: Project, name: str) -> Run:
    runs = Run.objects.filter(project=project, params__strategy="rewrite").select_related("author")
    found = runs.filter(author__name=name).first()
    if found is None:
        known = ", ".join(runs.values_list("author__name", flat=True)) or "none"
        raise ServiceError(f"No run “{name}” has rewritten notes. Runs that have: {known}.", code="run")
    return found
