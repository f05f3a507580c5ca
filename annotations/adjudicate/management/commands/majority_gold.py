import uuid
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from annotations.adjudicate.selectors.majority import preview
from annotations.adjudicate.services.majority import plan_majority, run_majority
from annotations.agreement.services.comparing import bring_up_to_date
from annotations.core.commands import JourneyCommand, find_project
from annotations.gold.management.commands.make_gold import decider
from annotations.models import User


class Command(JourneyCommand):
    help = (
        "Make the majority of the annotators gold in all notes that several annotators have submitted. Ties are left "
        "for adjudication. --by must name a reviewer or a manager."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("--preview", action="store_true", help="Only count; change nothing.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        bring_up_to_date(project)
        if options["preview"]:
            found = asdict(preview(project))
            return {"preview": True, "gold": found.pop("whole")} | found
        user = decider(actor, project)
        act = plan_majority(project=project, user=user, key=uuid.uuid4())
        return {"preview": False} | dict(run_majority(act=act))

    def say(self, result: dict[str, Any]) -> str:
        would = "Would make" if result["preview"] else "Made"
        skipped = result["has_gold"] + result["in_review"] + result["begun"] + result["pending"]
        return (
            f"{would} {result['gold']} notes gold; {result['tied']} notes with {result['ties']} ties are left for "
            f"adjudication. Skipped {skipped}: {result['has_gold']} with gold, {result['in_review']} in review, "
            f"{result['begun']} with an adjudication, {result['pending']} waiting for an annotator."
        )
