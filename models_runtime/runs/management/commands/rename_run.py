from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project
from annotations.core.errors import ServiceError
from annotations.gold.services.sets import wanted_set
from annotations.models import User
from models_runtime.models import Run
from models_runtime.runs.services.renaming import rename_run


class Command(JourneyCommand):
    help = "Rename a run. A run that a release names keeps its name."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        parser.add_argument("run", metavar="RUN", help="Name or ID of the run.")
        parser.add_argument("--name", required=True, help="The new name.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        author = wanted_set(project, f"run:{options['run'].removeprefix('run:')}").author
        run = Run.objects.filter(author=author).select_related("author").first() if author else None
        if run is None:
            raise ServiceError(f"“{options['run'][:80]}” was imported, so it keeps its name.", code="run")
        return {"run": rename_run(run=run, name=options["name"], actor=actor).author.name, "run_id": run.author_id}

    def say(self, result: dict[str, Any]) -> str:
        return f"The run is now named {result['run']}."
