from typing import Any

from django.core.exceptions import PermissionDenied
from django.core.management.base import CommandParser
from django.http import Http404

from annotations.core.access import Access, Can
from annotations.core.commands import ProjectCommand, entered
from annotations.core.services import ServiceError
from annotations.jobs.api import JobItem
from annotations.jobs.services import queue
from annotations.jobs.services.queue import job_for, job_to_control
from annotations.jobs.waiting import wait_for
from annotations.models import Job, JobState, Project, User

LISTED = 50


class Command(ProjectCommand):
    help = (
        "List a project's jobs, newest first, or show one job; cancel, pause, resume or retry it. The person of --by "
        "needs the right to start such a job."
    )
    needs = Can.READ_NOTES

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("number", metavar="NUMBER", nargs="?", type=int, help="The job's number in the project.")
        acts = parser.add_mutually_exclusive_group()
        acts.add_argument("--cancel", dest="what", action="store_const", const="cancel", help="Stop the job for good.")
        acts.add_argument("--pause", dest="what", action="store_const", const="pause", help="Stop the job for now.")
        acts.add_argument("--resume", dest="what", action="store_const", const="resume", help="Continue a paused job.")
        acts.add_argument(
            "--retry", dest="what", action="store_const", const="retry", help="Restart a failed or canceled job."
        )
        parser.add_argument("--wait", action="store_true", help="Wait until the job has ended.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        if options["number"] is None:
            if options["what"] or options["wait"]:
                raise ServiceError("Name the job by its number. Without options this command lists them.", code="job")
            return {"jobs": [_described(job) for job in Job.objects.filter(project=project)[:LISTED]]}
        job = _find(project, options["number"])
        if actor is not None:
            _check_job(entered(actor, project, Can.READ_NOTES), job, acts=bool(options["what"]))
        if options["what"]:
            job = queue.ACTS[options["what"]](job)
        if options["wait"]:
            wait_for(job, tell=None if options["json"] else self.stderr)
        result = _described(job)
        failed = options["wait"] and job.state in (JobState.FAILED, JobState.CANCELED)
        return result | ({"failed": job.error or f"The job was {job.state}."} if failed else {})

    def say(self, result: dict[str, Any]) -> str:
        rows = result.get("jobs", [result])
        return "\n".join(map(_line, rows)) or "There are no jobs."


def _find(project: Project, number: int) -> Job:
    job = Job.objects.filter(project=project, number=number).first()
    if job is None:
        raise ServiceError(f"“{project.slug}” has no job {number}.", code="job")
    return job


def _check_job(access: Access, job: Job, *, acts: bool) -> None:
    """Raise ServiceError unless this person may see the job, or with `acts` control it."""
    find, what = (job_to_control, "control") if acts else (job_for, "see")
    try:
        find(access, job.number)
    except ServiceError:
        raise
    except (Http404, PermissionDenied) as error:
        raise ServiceError(
            f"“{access.user.username}” doesn't have permission to {what} job {job.number} in “{access.slug}”.",
            code="access",
        ) from error


def _described(job: Job) -> dict[str, Any]:
    answer = JobItem.model_validate(job).model_dump(mode="json")
    return answer | {"queue": job.queue, "stopping": job.cancel_requested, "pausing": job.pause_requested}


def _line(row: dict[str, Any]) -> str:
    of = f" of {row['total']}" if row["total"] else ""
    asked = ", stopping" if row["stopping"] else ", pausing" if row["pausing"] else ""
    error = f": {row['error']}" if row["error"] else ""
    return f"{row['number']}  {row['kind']}  {row['state']}{asked}, {row['done']}{of} done{error}"
