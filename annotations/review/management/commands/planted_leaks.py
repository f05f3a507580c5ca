from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, add_several, entered, find_project
from annotations.core.errors import ServiceError
from annotations.models import User
from annotations.review.api.acceptance import PlantedOut
from annotations.review.selectors.planted import planting_in
from annotations.review.selectors.reviewing import run_authors


class Command(JourneyCommand):
    help = "Show how many planted leaks (known identifiers hidden from the suggestions) reviewers missed, by reviewer."
    needs = Can.READ_NOTES

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        add_several(parser, "--run", "NAME", "Count only reviews of this run.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        known = {author.name: author.pk for author in run_authors(project)}
        if unknown := [name for name in options["run"] if name not in known]:
            raise ServiceError(
                f"The project has no run “{unknown[0]}”. Its runs: {', '.join(known) or 'none yet'}.", code="run"
            )
        runs = [known[name] for name in options["run"]]
        # As on the page: managers see the figures of all reviewers, others only their own and the total.
        only = None if actor is None or entered(actor, project, Can.READ_NOTES).can(Can.MANAGE) else actor
        found = PlantedOut.of(planting_in(project, runs, only))
        return {"share_of_notes": project.planted_share} | found.model_dump(mode="json")
