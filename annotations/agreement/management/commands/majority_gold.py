import uuid
from contextlib import suppress
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser

from annotations.agreement.api.adjudication import MajorityVote
from annotations.agreement.selectors.adjudications import preview
from annotations.agreement.services import majority
from annotations.agreement.services.comparing import bring_up_to_date
from annotations.core.access import Can
from annotations.core.commands import ProjectCommand
from annotations.core.services import ServiceError
from annotations.gold.management.commands.make_gold import decider
from annotations.jobs.waiting import end
from annotations.models import MajorityAct, Project, User


class Command(ProjectCommand):
    help = (
        "Make the majority of the annotators gold in all notes that several annotators have submitted. Ties are left "
        "for adjudication. --undo undoes a vote. --by must name a reviewer or a manager."
    )
    needs = Can.MAKE_GOLD

    def arguments(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--preview", action="store_true", help="Only count; change nothing.")
        what.add_argument("--list", action="store_true", help=f"List the latest {majority.RECENT} votes, newest first.")
        what.add_argument("--undo", metavar="VOTE", help="Undo a vote by its ID, except in notes changed since.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        if options["list"]:
            return {"votes": [_described(row) for row in majority.recent_votes(project)]}
        if options["undo"]:
            act = _vote(project, options["undo"])
            job = majority.start_undo(act=act, user=decider(actor, project))
            end(job, "The undo", code="job", tell=None if options["json"] else self.stderr)
            act.refresh_from_db()
            return _described(act)
        bring_up_to_date(project)
        if options["preview"]:
            return asdict(preview(project))
        act = majority.plan_majority(project=project, user=decider(actor, project), key=uuid.uuid4())
        majority.run_majority(act=act)
        return _described(act)


def _vote(project: Project, name: str) -> MajorityAct:
    with suppress(ValueError):
        if row := MajorityAct.objects.select_related("project", "user").filter(project=project, pk=UUID(name)).first():
            return row
    raise ServiceError(f"There is no majority vote “{name[:40]}”. List them with --list.", code="vote")


def _described(act: MajorityAct) -> dict[str, Any]:
    return MajorityVote.of(act).model_dump(mode="json")
