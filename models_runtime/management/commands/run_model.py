import time
import uuid
from typing import Any

from django.core.management.base import CommandParser

from annotations.management.journey import JourneyCommand, find_project
from annotations.models import User
from annotations.services.errors import ServiceError
from models_runtime.models import Job, Run
from models_runtime.registry import BACKENDS
from models_runtime.runner import run as work
from models_runtime.services.doorbell import workers_alive
from models_runtime.services.runs import run_counts, start_run

LOOK_EVERY = 0.3


class Command(JourneyCommand):
    help = "Run a backend over every note. --wait stays to the end, and does the work itself if no worker lives."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("backend", metavar="BACKEND", help=f"one of {', '.join(BACKENDS)}")
        parser.add_argument("--name", default="", help="of the run, for --set run:NAME")
        parser.add_argument("--wait", action="store_true")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        run = start_run(
            project=project, backend=options["backend"], actor=actor, name=options["name"], key=uuid.uuid4().hex
        )
        if options["wait"]:
            self._wait(run, quiet=options["json"])
        job = Job.objects.get(run=run)
        counts = run_counts(run)
        took = (job.finished_at - job.started_at).total_seconds() if job.finished_at and job.started_at else None
        result = {"run": run.author.name, "run_id": run.author_id, "job": job.pk, "state": job.state, "seconds": took}
        result |= counts
        if job.state in (Job.State.FAILED, Job.State.CANCELLED):
            raise ServiceError(f"the run {run.author.name} {job.get_state_display().lower()}: {job.error}", code="run")
        return result

    def _wait(self, run: Run, *, quiet: bool) -> None:
        job = Job.objects.get(run=run)
        while job.state in (Job.State.QUEUED, Job.State.RUNNING):
            if job.state == Job.State.QUEUED and not workers_alive(job.queue):
                if not quiet:
                    self.stderr.write("no worker is alive: this command does the work itself")
                work(job.pk)
            else:
                time.sleep(LOOK_EVERY)
            job.refresh_from_db()

    def say(self, result: dict[str, Any]) -> str:
        return (
            f"run {result['run']} (job {result['job']}, {result['state']}): {result['done']} notes done, "
            f"{result['failed']} failed, {result['pending']} to do"
        )
