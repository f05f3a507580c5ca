from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, Needs, authors_shown, find_project
from annotations.core.errors import ServiceError
from annotations.jobs.services.queue import LIVE
from annotations.models import User
from annotations.text.names import MAX_ID
from models_runtime.models import Judging
from models_runtime.refining.management.commands.judge import said, waited
from models_runtime.refining.services.judging.asking import judge_again
from models_runtime.refining.services.judging.results import result_of


class Command(JourneyCommand):
    help = (
        "List the judgings of a project, newest first, or show the figures of one. With --again, ask for missing and "
        "failed verdicts, and wait for them. The command judge starts a judging."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        parser.add_argument("judging", metavar="ID", nargs="?", type=int, help="ID of a judging.")
        parser.add_argument("--again", action="store_true", help="Ask for missing and failed verdicts.")

    def needs_for(self, options: Mapping[str, Any]) -> Needs:
        return Can.MANAGE if options["again"] else Can.READ_NOTES

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        rows = Judging.objects.filter(project=project).select_related("author", "gold_version", "job")
        authors = authors_shown(actor, project)
        rows = rows if authors is None else rows.filter(author__in=authors)
        if options["judging"] is None:
            if options["again"]:
                raise ServiceError(
                    "Name the judging by its ID. Without options this command lists them.", code="judging"
                )
            return {"judgings": [_described(row) for row in rows.prefetch_related("judges").order_by("-pk")]}
        row = rows.filter(pk=options["judging"]).first() if 0 < options["judging"] <= MAX_ID else None
        if row is None:
            raise ServiceError(f"“{project.slug}” has no judging {options['judging']}.", code="judging")
        if options["again"]:
            judge_again(judging=row, actor=actor)
            row = waited(row, tell=None if options["json"] else self.stderr)
        live = row.job is not None and row.job.state in LIVE
        return {"judgings": [_described(row)]} if live else result_of(row)

    def say(self, result: dict[str, Any]) -> str:
        if "judgings" not in result:
            return said(result)
        return "\n".join(map(_line, result["judgings"])) or "There are no judgings. Start one with: judge PROJECT"


def _described(row: Judging) -> dict[str, Any]:
    return {
        "id": row.pk, "author": row.author.name, "gold": row.gold_version.number,
        "judges": [one.name for one in row.judges.all()], "rules": row.rules, "unit": row.unit,
        "threshold": row.threshold, "job": row.job.number if row.job else None,
        "state": row.job.state if row.job else None, "created_at": row.created_at.isoformat(timespec="seconds"),
    }  # fmt: skip


def _line(row: dict[str, Any]) -> str:
    judges = ", ".join(row["judges"])
    return f"{row['id']}  {row['author']} against gold {row['gold']}, judges {judges}: {row['state'] or 'no job'}"
