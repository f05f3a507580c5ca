from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project
from annotations.core.errors import ServiceError
from annotations.gold.services.sets import wanted_set
from annotations.jobs.waiting import wait_for
from annotations.models import Job, User
from models_runtime.models import Run
from models_runtime.runs.services.runs import failed_notes, retry_failed, run_counts, run_errors


class Command(JourneyCommand):
    help = "Run a backend again over the notes of an ended run that failed or were left. Notes that are done stay."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        parser.add_argument("run", metavar="RUN", help="Name or ID of the run.")
        parser.add_argument("--wait", action="store_true", help="Wait for the end.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        author = wanted_set(project, f"run:{options['run'].removeprefix('run:')}").author
        run = Run.objects.filter(author=author).select_related("author", "project").first() if author else None
        if run is None:
            raise ServiceError(f"“{options['run'][:80]}” was imported, so it can't be run again.", code="run")
        retried = retry_failed(run=run, actor=actor)
        run.refresh_from_db()
        job = Job.objects.get(run=run)
        if options["wait"]:
            wait_for(job, tell=None if options["json"] else self.stderr)
            if job.state in (Job.State.FAILED, Job.State.CANCELED):
                raise ServiceError(
                    f"The run “{run.author.name}” is not complete. {job.get_state_display()}: {job.error}", code="run"
                )
        result = {"run": run.author.name, "job": job.number, "state": job.state, "retried": retried}
        return result | run_counts(run) | {"errors": run_errors(run)}

    def say(self, result: dict[str, Any]) -> str:
        return (
            f"Run {result['run']} (job {result['job']}: {Job.State(result['state']).label}): {result['retried']} notes "
            f"again; {result['done']} notes done, {result['failed']} failed, {result['pending']} remaining."
        )

    def failure(self, result: dict[str, Any]) -> str:
        return failed_notes(result)
