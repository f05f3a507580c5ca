import uuid
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project
from annotations.core.errors import ServiceError
from annotations.domain.injecting.rules import Rule
from annotations.gold.management.commands.diff_gold import find_version
from annotations.jobs.waiting import wait_for
from annotations.models import Job, User
from models_runtime.injecting.services.starting import ALL, start_injection
from models_runtime.models import InjectedRun


class Command(JourneyCommand):
    help = "Put errors into a copy of a frozen gold version, to measure who finds them. Gold does not change."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("--gold", type=int, required=True, metavar="N", help="Number of the gold version.")
        parser.add_argument(
            "--rules",
            default=ALL,
            metavar="A,B",
            help=f"Rules, or {ALL} that fit the labels (default): {', '.join(Rule)}.",
        )
        parser.add_argument(
            "--rate", type=float, default=0.1, metavar="X", help="Errors for each gold span. Default: 0.1."
        )
        parser.add_argument("--seed", type=int, default=7, metavar="N", help="Seed of the drawing. Default: 7.")
        parser.add_argument("--name", default="", help="Name of the run. Default: injected-1 and so on.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        run = start_injection(
            version=find_version(project, options["gold"]),
            actor=actor,
            rules=options["rules"].split(","),
            rate=options["rate"],
            seed=options["seed"],
            name=options["name"],
            key=uuid.uuid4().hex,
        )
        wait_for(Job.objects.get(injected_run=run), tell=None if options["json"] else self.stderr)
        run = InjectedRun.objects.select_related("job", "author", "gold_version").get(pk=run.pk)
        job = run.job
        if job is None or job.state != Job.State.DONE:
            reason = f"{job.get_state_display()}: {job.error}" if job else ""
            raise ServiceError(f"The errors are not complete. {reason}", code="inject")
        return {
            "run": run.author.name, "injected": run.injected, "gold": run.gold_version.number,
            "spans": run.gold_version.span_count, "notes": run.gold_version.note_count,
            "possible": run.possible_by_rule(),
        }  # fmt: skip

    def say(self, result: dict[str, Any]) -> str:
        rules = ", ".join(f"{rule} {count}" for rule, count in result["possible"].items())
        return (
            f"{result['run']}: {result['injected']} errors in gold version {result['gold']}, which has "
            f"{result['spans']} spans in {result['notes']} notes.\nPossible errors by rule: {rules}"
        )
