import uuid
from typing import Any

from django.core.management.base import CommandParser

from annotations.management.journey import JourneyCommand, find_project
from annotations.models import User
from annotations.services.errors import ServiceError
from models_runtime.management.waiting import wait_for
from models_runtime.models import Job
from models_runtime.registry import BACKENDS
from models_runtime.services.runs import run_counts, start_run


class Command(JourneyCommand):
    help = "Run a backend over every note. --wait stays to the end, and does the work itself if no worker lives."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument(
            "backend", metavar="BACKEND", help=f"{', '.join(BACKENDS)}, or a trained model: its name or model:ID"
        )
        parser.add_argument("--name", default="", help="of the run, for --set run:NAME")
        parser.add_argument("--wait", action="store_true")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        run = start_run(
            project=project, backend=options["backend"], actor=actor, name=options["name"], key=uuid.uuid4().hex
        )
        if options["wait"]:
            wait_for(Job.objects.get(run=run), tell=None if options["json"] else self.stderr)
        job = Job.objects.get(run=run)
        counts = run_counts(run)
        took = (job.finished_at - job.started_at).total_seconds() if job.finished_at and job.started_at else None
        result = {"run": run.author.name, "run_id": run.author_id, "job": job.pk, "state": job.state, "seconds": took}
        result |= counts
        if job.state in (Job.State.FAILED, Job.State.CANCELLED):
            raise ServiceError(f"the run {run.author.name} {job.get_state_display().lower()}: {job.error}", code="run")
        return result

    def say(self, result: dict[str, Any]) -> str:
        return (
            f"run {result['run']} (job {result['job']}, {result['state']}): {result['done']} notes done, "
            f"{result['failed']} failed, {result['pending']} to do"
        )
