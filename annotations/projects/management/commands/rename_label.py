from typing import Any

from django.core.management.base import CommandParser

from annotations.core.commands import JourneyCommand, find_project
from annotations.models import Span, User
from annotations.projects.management.commands.merge_labels import find_label
from annotations.projects.services.labels import update_label


class Command(JourneyCommand):
    help = "Change a label's name, hotkey or placeholder. Its code stays: files and frozen gold name it."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("label", metavar="CODE")
        parser.add_argument("--name")
        parser.add_argument("--hotkey")
        parser.add_argument("--placeholder")
        parser.add_argument("--preview", action="store_true", help="only count the spans that would show the new name")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        label = find_label(find_project(options["project"]), options["label"])
        changes = {key: options[key] for key in ("name", "hotkey", "placeholder") if options[key] is not None}
        if not options["preview"]:
            label = update_label(label=label, actor=actor, **changes)
        spans = Span.objects.filter(label=label).count()
        return {"label": label.code, "name": label.name, "spans": spans, "preview": options["preview"]}

    def say(self, result: dict[str, Any]) -> str:
        return f"{result['label']}: {result['name']} ({result['spans']} spans)"
