from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand
from annotations.gold.selectors import frozen_version
from annotations.gold.services.statistics import version_diff
from annotations.models import Document, Project, User


class Command(ProjectCommand):
    help = "Show the spans and notes that changed between two frozen gold versions."
    needs = Can.READ_NOTES

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("before", metavar="FROM", type=int)
        parser.add_argument("after", metavar="TO", type=int)

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        found = version_diff(*(frozen_version(project, options[word]) for word in ("before", "after")))
        names = dict(Document.objects.filter(project=project).values_list("pk", "name"))
        return asdict(found) | {
            "added": [{"note": names[pk], "spans": n} for pk, n in found.added if pk in names],
            "removed": [{"note": names[pk], "spans": n} for pk, n in found.removed if pk in names],
            "changes": [
                {"note": names[pk], "kind": kind, "before": before, "after": after}
                for pk, kind, before, after in found.changes
                if pk in names
            ],
        }
