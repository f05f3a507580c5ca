from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand, find_label
from annotations.models import Project, User
from annotations.projects.services.labels import merge_labels, merge_preview


class Command(ProjectCommand):
    help = "Merge one label into another. Frozen gold versions keep the old label."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("source", metavar="FROM", help="Code of the label that disappears.")
        parser.add_argument("target", metavar="INTO", help="Code of the label that stays.")
        parser.add_argument("--preview", action="store_true", help="Only count the spans; change nothing.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        source, target = find_label(project, options["source"]), find_label(project, options["target"])
        if options["preview"]:
            return merge_preview(source=source, target=target) | {"preview": True}
        return merge_labels(source=source, target=target, actor=actor) | {"preview": False}
