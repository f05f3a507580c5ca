from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand
from annotations.core.services import ServiceError
from annotations.models import AuditPlan, Project, Release, User
from annotations.release.selectors.audits import audit_figures, result_of
from annotations.release.services.audits.planning import Choices, discard_plan, plan_audit


class Command(ProjectCommand):
    help = (
        "Plan the audit of a release: draw the sample that auditors read for leaks. If the release has an audit "
        "already, show its progress and result, and change nothing."
    )
    needs = Can.RELEASE
    json_only = ("labels",)

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--release", type=int, metavar="NUMBER", help="Default: the newest release.")
        parser.add_argument("--bound", default="1%", help="At most this share of notes contains a leak. Default: 1%%.")
        parser.add_argument("--confidence", default="95%", help="Default: 95%%.")
        parser.add_argument(
            "--strata", default="", choices=["", "type", "site", "language"],
            help="Stratify the sample by the type, site or language of notes.",
        )  # fmt: skip
        parser.add_argument("--planted", default="10%", help="The share of notes with a planted leak. Default: 10%%.")
        parser.add_argument(
            "--leaks", type=int, default=0, choices=[0, 1, 2],
            help="How many notes with a leak the audit may find before it ends without its target. Default: 0.",
        )  # fmt: skip

        parser.add_argument(
            "--discard", action="store_true", help="Discard the plan. This is possible until somebody opens a note."
        )

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        release = _release(project, options["release"])
        if options["discard"]:
            discard_plan(release=release, actor=actor)
            return {"release": release.number, "discarded": True}
        plan = AuditPlan.objects.filter(release=release).select_related("release__policy").first()
        made = plan is None
        if plan is None:
            choices = Choices(
                options["strata"],
                _share(options["confidence"], "--confidence"),
                _share(options["bound"], "--bound"),
                _share(options["planted"], "--planted"),
                options["leaks"],
            )
            plan = plan_audit(release=release, choices=choices, actor=actor)
        return {"release": release.number, "made": made} | audit_figures(result_of(plan))


def _release(project: Project, number: int | None) -> Release:
    rows = Release.objects.filter(project=project).select_related("project", "policy").order_by("-number")
    found = rows.first() if number is None else rows.filter(number=number).first() if 0 < number < 2**31 else None
    if found is None:
        numbers = ", ".join(map(str, rows.values_list("number", flat=True))) or "none yet"
        raise ServiceError(f"There is no such release. Releases: {numbers}.", code="release")
    return found


def _share(word: str, option: str) -> float:
    try:
        value = float(word.rstrip("% "))
    except ValueError:
        raise ServiceError(f"“{word}” is not a percentage. Write {option} 1%.", code="share") from None
    return value / 100 if word.rstrip().endswith("%") else value
