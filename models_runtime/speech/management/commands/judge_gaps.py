from typing import Any

from django.core.management.base import CommandParser

from annotations.audio.selectors import recording_named
from annotations.core.access import Can
from annotations.core.commands import ProjectCommand
from annotations.jobs.waiting import end
from annotations.models import Project, User
from models_runtime.speech.services.starting import start_judging


class Command(ProjectCommand):
    help = "Ask a language model what the gaps of a recording hold. Waits for the end."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("note", metavar="NOTE", help="Name of the note that is the transcript.")
        parser.add_argument("--server", required=True, metavar="NAME", help="Server of DEIDREVIEW_LLM_SERVERS.")
        parser.add_argument("--model", default="", metavar="NAME", help="Model. Default: the server's first.")
        about = "The transcript may be sent to another machine."
        parser.add_argument("--may-leave", action="store_true", help=about)

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        recording = recording_named(project, options["note"])
        given = {key: options[key] for key in ("server", "model") if options[key]}
        job = start_judging(recording=recording, given=given, may_leave=options["may_leave"], actor=actor)
        end(job, "The judgment", code="judging", tell=None if options["json"] else self.stderr)
        result: dict[str, Any] = job.result
        return result
