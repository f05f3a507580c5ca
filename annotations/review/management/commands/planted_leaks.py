from typing import Any

from django.core.management.base import CommandParser

from annotations.agreement.templatetags.coefficients import percent
from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, entered, find_project
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
        parser.add_argument(
            "--run",
            action="append",
            default=[],
            metavar="NAME",
            help="Count only reviews of this run. Repeat the option for several runs.",
        )

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

    def say(self, result: dict[str, Any]) -> str:
        lines = [_line(one["reviewer"], one) for one in result["reviewers"]]
        left = result["left"]
        about = (
            f"about {left['expected']:.0f} ({left['least']:.0f} to {left['most']:.0f})"
            if left
            else "too few planted leaks to estimate"
        )
        by_hand = f"Identifiers that no run suggested: {result['found_by_hand']} found in {result['notes']} notes"
        return "\n".join([*lines, _line("all", result["all"]), f"{by_hand}; still unmarked: {about}"])


def _line(name: str, figures: dict[str, Any]) -> str:
    counted = figures["missed"] + figures["found"] + figures["partly"]
    if not counted:
        return f"{name}: no planted leak measured yet"
    low, high = figures["interval"]
    few = ", too few planted leaks" if figures["few"] else ""
    return f"{name}: missed {figures['missed']} of {counted} ({percent(low)} to {percent(high)}{few})"
