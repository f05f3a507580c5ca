from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand, add_several, entered
from annotations.core.services import ServiceError
from annotations.models import Project, User
from annotations.review.api.acceptance import PlantedOut
from annotations.review.selectors.planted import planting_in
from annotations.review.selectors.reviewing import run_authors


class Command(ProjectCommand):
    help = "Show how many planted leaks (known identifiers hidden from the suggestions) reviewers missed, by reviewer."
    needs = Can.READ_NOTES

    def arguments(self, parser: CommandParser) -> None:
        add_several(parser, "--run", "NAME", "Count only reviews of this run.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
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
