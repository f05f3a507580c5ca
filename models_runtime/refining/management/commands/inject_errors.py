import uuid
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project, read_text
from annotations.core.errors import ServiceError
from annotations.gold.management.commands.diff_gold import find_version
from annotations.jobs.waiting import wait_for
from annotations.models import Job, JobState, Project, User
from models_runtime.models import InjectedRun
from models_runtime.refining.rules.rules import InjectionRule
from models_runtime.refining.rules.vocabulary import LOG, Term
from models_runtime.refining.services.injecting.starting import ALL, start_injection, terms_in


class Command(JourneyCommand):
    help = "Put errors into a copy of a frozen gold version, to measure who finds them. Gold does not change."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("--gold", type=int, required=True, metavar="N", help="Number of the gold version.")
        parser.add_argument(
            "--rules",
            metavar="A,B",
            help=f"Rules, or {ALL} that fit the labels (default, unless --from-log or --from-csv is given): "
            f"{', '.join(InjectionRule)}, and systemic:NAME for accepted systemic errors.",
        )
        parser.add_argument(
            "--from-log", action="store_true", help="Also mark strings whose suggestions reviewers rejected."
        )
        parser.add_argument(
            "--from-csv",
            type=Path,
            metavar="FILE",
            help="Also mark the strings of a CSV file with the columns string and label, and optionally count.",
        )
        parser.add_argument(
            "--rate", type=float, default=0.1, metavar="X", help="Errors for each gold span. Default: 0.1."
        )
        parser.add_argument("--seed", type=int, default=7, metavar="N", help="Seed of the drawing. Default: 7.")
        parser.add_argument("--name", default="", help="Name of the run. Default: injected-1 and so on.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        from_log, file = options["from_log"], options["from_csv"]
        rules = options["rules"]
        if rules is None:
            rules = "" if from_log or file else ALL
        run = start_injection(
            version=find_version(project, options["gold"]),
            actor=actor,
            rules=[*rules.split(","), *([LOG] if from_log else [])],
            rate=options["rate"],
            seed=options["seed"],
            name=options["name"],
            terms=_terms(project, file) if file else [],
            key=uuid.uuid4().hex,
        )
        wait_for(Job.objects.get(injected_run=run), tell=None if options["json"] else self.stderr)
        run = InjectedRun.objects.select_related("job", "author", "gold_version").get(pk=run.pk)
        job = run.job
        if job is None or job.state != JobState.DONE:
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


def _terms(project: Project, file: Path) -> list[Term]:
    """Raises ServiceError `path`, `utf8` and `vocabulary`."""
    return terms_in(project, read_text(file, "Nothing was injected."), f"“{file}”")
