import uuid
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, entered, find_project
from annotations.core.errors import ServiceError
from annotations.jobs.waiting import wait_for
from annotations.models import Job, User
from models_runtime.runs.services.merging import review_together
from models_runtime.runs.services.runs import failed_notes, run_counts, run_errors


class Command(JourneyCommand):
    help = "Merge the suggestions of finished runs into one list for review, with the number of runs that agree."
    needs = Can.MAKE_GOLD

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("runs", metavar="RUN", nargs="+", help="Names of finished or imported runs.")
        parser.add_argument("--name", default="", help="Name of the merged list.")
        parser.add_argument("--wait", action="store_true", help="Wait for the end.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        if actor is not None and (reason := entered(actor, project, Can.MAKE_GOLD).withheld):
            raise ServiceError(reason, code="withheld")
        run = review_together(
            project=project, runs=options["runs"], actor=actor, name=options["name"],
            key=uuid.uuid4().hex,
        )  # fmt: skip
        if options["wait"]:
            wait_for(Job.objects.get(run=run), tell=None if options["json"] else self.stderr)
        job = Job.objects.get(run=run)
        if job.state in (Job.State.FAILED, Job.State.CANCELED):
            raise ServiceError(
                f"The merged list “{run.author.name}” is not complete. {job.get_state_display()}: {job.error}",
                code="run",
            )
        members = [member["name"] for member in run.params["members"]]
        known = {"run": run.author.name, "run_id": run.author_id, "job": job.number, "state": job.state}
        return (
            known
            | {"members": members}
            | run_counts(run)
            | {
                "errors": run_errors(run),
                "left_out": run.params["left_out"],
            }
        )

    def say(self, result: dict[str, Any]) -> str:
        said = (
            f"Merged list {result['run']} (job {result['job']}: {Job.State(result['state']).label}): "
            f"{result['done']} notes done, {result['pending']} remaining."
        )
        if result["left_out"]:
            said += f" Excluded because not every run annotated them: {result['left_out']} notes."
        return said

    def failure(self, result: dict[str, Any]) -> str:
        return failed_notes(result)
