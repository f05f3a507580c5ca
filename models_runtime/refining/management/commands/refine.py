import uuid
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project
from annotations.core.errors import ServiceError
from annotations.gold.management.commands.diff_gold import find_version
from annotations.jobs.waiting import wait_for
from annotations.models import Job, JobState, User
from models_runtime.backends.llm.prompts import presets_of
from models_runtime.backends.refining.state import Component
from models_runtime.models import Refinement
from models_runtime.refining.jobs.methods import METHODS, WITH_MODEL
from models_runtime.refining.jobs.refining import result_of
from models_runtime.refining.services.asking import Asked
from models_runtime.refining.services.starting import start_refinement


class Command(JourneyCommand):
    help = "Go through a run's annotations: keep, change or remove each one. The result is suggestions, never gold."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("run", metavar="RUN", help="Name of a run, a merged list, or a run of injected errors.")
        parser.add_argument(
            "--method",
            choices=[*METHODS, Refinement.Method.EXTERNAL.value],
            default=Refinement.Method.OFFLINE,
            help="Default: offline. external: clients of the command “mcp” decide.",
        )
        parser.add_argument(
            "--gold",
            type=int,
            metavar="N",
            help="Gold version to learn from. Default: the newest, or that of the errors.",
        )
        parser.add_argument(
            "--server", default="", metavar="NAME", help="Server of a language model. Default: the first."
        )
        parser.add_argument("--model", default="", metavar="NAME", help="Model. Default: the server's first.")
        parser.add_argument(
            "--language", default="", metavar="CODE", help="Language of the prompt. Default: the project's, or English."
        )
        parser.add_argument(
            "--examples",
            type=int,
            default=0,
            metavar="N",
            help="Examples from gold of other patients in each question. Default: 0.",
        )
        parser.add_argument(
            "--preset",
            default="",
            choices=list(presets_of(WITH_MODEL.values())),
            help="Printed prompt of a paper for the method single, in its language.",
        )
        parser.add_argument(
            "--without",
            default="",
            metavar="A,B",
            help=f"Components of the agent to switch off, to measure them: {', '.join(Component)}.",
        )
        parser.add_argument(
            "--steps", type=int, default=0, metavar="N", help="Most questions of the agent about a note."
        )
        parser.add_argument(
            "--tokens", type=int, default=0, metavar="N", help="Most tokens of the agent for a note, in and out."
        )
        parser.add_argument("--may-leave", action="store_true", help="The notes may be sent to another machine.")
        parser.add_argument("--name", default="", help="Name of the result. Default: RUN-METHOD-1 and so on.")
        parser.add_argument("--wait", action="store_true", help="Wait for the end.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        row = start_refinement(
            project=project,
            source=options["run"],
            method=options["method"],
            actor=actor,
            name=options["name"],
            gold=None if options["gold"] is None else find_version(project, options["gold"]),
            key=uuid.uuid4().hex,
            asked=Asked(
                server=options["server"],
                model=options["model"],
                language=options["language"],
                examples=options["examples"],
                may_leave=options["may_leave"],
                without=tuple(name.strip() for name in options["without"].split(",") if name.strip()),
                steps=options["steps"],
                tokens=options["tokens"],
                preset=options["preset"],
            ),
        )
        if row.method == Refinement.Method.EXTERNAL:
            return {**result_of(row), "refinement": row.pk, "job": None, "state": None}
        if options["wait"]:
            wait_for(Job.objects.get(refinement=row), tell=None if options["json"] else self.stderr)
        job = Job.objects.get(refinement=row)
        if job.state in (JobState.FAILED, JobState.CANCELED):
            raise ServiceError(f"The refinement is not complete. {job.get_state_display()}: {job.error}", code="refine")
        return {**result_of(row), "job": job.number, "state": job.state}

    def say(self, result: dict[str, Any]) -> str:
        if result["state"] is None:
            return f"{result['author']}: MCP clients decide. It is refinement {result['refinement']}."
        if result["state"] != JobState.DONE:
            return f"{result['author']}: job {result['job']} is {result['state']}."
        return (
            f"{result['author']}: {result['kept']} kept, {result['updated']} updated, {result['removed']} removed "
            f"in {result['notes']} notes."
        )
