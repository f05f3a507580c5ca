from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotations.core.commands import find_project
from annotations.core.errors import ServiceError
from annotations.models import Project
from models_runtime.models import Run
from models_runtime.runs.events import REWRITTEN_EXPORTED
from models_runtime.runs.services.rewritten_notes import rewritten_lines


class Command(BaseCommand):
    help = "Write the rewritten notes of a run as JSON Lines: original, de-identified text, and the prompt if asked."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("run", metavar="RUN", help="Name of a run with the strategy rewrite.")
        parser.add_argument("--prompt", action="store_true", help="Add the prompt to each line.")
        parser.add_argument("--output", metavar="FILE", help="File to write. Default: standard output.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            project = find_project(options["project"])
            run = _find(project, options["run"])
        except ServiceError as error:
            raise CommandError(str(error)) from None
        REWRITTEN_EXPORTED.record(
            actor=None, project_id=project.pk, data={"author": run.author_id, "prompt": options["prompt"]}
        )
        path = options["output"]
        try:
            with Path(path).open("w", encoding="utf-8", newline="") if path else nullcontext(self.stdout) as out:
                for line in rewritten_lines(run, prompt=options["prompt"]):
                    # Each line already ends with a line break.
                    out.write(line, ending="") if out is self.stdout else out.write(line)
        except OSError as error:
            raise CommandError(f"Cannot write “{path}”: {error.strerror}.") from None


def _find(project: Project, name: str) -> Run:
    runs = Run.objects.filter(project=project, params__strategy="rewrite").select_related("author")
    found = runs.filter(author__name=name).first()
    if found is None:
        known = ", ".join(runs.values_list("author__name", flat=True)) or "none"
        raise ServiceError(f"No run “{name}” has rewritten notes. Runs that have: {known}.", code="run")
    return found
