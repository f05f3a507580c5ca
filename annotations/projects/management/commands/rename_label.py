from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand, find_label
from annotations.models import Project, Span, User
from annotations.projects.services.labels import update_label


class Command(ProjectCommand):
    help = (
        "Change name, hotkey, description, placeholder or attributes of a label. Its code stays: files and frozen gold "
        "use it. See also the command labels."
    )
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("label", metavar="CODE", help="Code of the label.")
        parser.add_argument("--name", help="New name.")
        parser.add_argument("--hotkey", help="New key: one letter or digit, or empty.")
        parser.add_argument("--description", help="New description, which annotators see.")
        parser.add_argument("--placeholder", help="New placeholder in redacted text.")
        about = "All attributes that its spans may have: “NAME” for yes or no, “NAME: VALUE | VALUE” for a choice."
        parser.add_argument("--attributes", nargs="*", metavar="ATTRIBUTE", help=about)
        parser.add_argument("--preview", action="store_true", help="Only count the spans; change nothing.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        label = find_label(project, options["label"])
        changes = {
            key: options[key] for key in ("name", "hotkey", "description", "placeholder") if options[key] is not None
        }
        if options["attributes"] is not None:
            changes["attributes"] = "\n".join(options["attributes"])
        if not options["preview"]:
            label = update_label(label=label, actor=actor, **changes)
        spans = Span.objects.filter(label=label).count()
        return {"label": label.code, "name": label.name, "spans": spans, "preview": options["preview"]}
