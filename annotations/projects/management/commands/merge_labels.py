from typing import Any

from django.core.management.base import CommandParser

from annotations.core.commands import JourneyCommand, find_project
from annotations.core.errors import ServiceError
from annotations.models import Label, Project, User
from annotations.projects.services.labels import merge_labels, merge_preview


def find_label(project: Project, code: str) -> Label:
    label = Label.objects.filter(label_set__project=project, code=code, merged_into__isnull=True).first()
    if label is None:
        known = Label.objects.filter(label_set__project=project, merged_into__isnull=True)
        raise ServiceError(
            f"there is no label {code!r}; labels: {', '.join(known.values_list('code', flat=True))}", code="label"
        )
    return label


class Command(JourneyCommand):
    help = "Merge one label into another, everywhere but in frozen gold. --preview only counts."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("source", metavar="FROM")
        parser.add_argument("target", metavar="INTO")
        parser.add_argument("--preview", action="store_true")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        source, target = find_label(project, options["source"]), find_label(project, options["target"])
        if options["preview"]:
            return merge_preview(source=source, target=target) | {"preview": True}
        return merge_labels(source=source, target=target, actor=actor) | {"preview": False}

    def say(self, result: dict[str, Any]) -> str:
        word = "would become" if result["preview"] else "became"
        return (
            f"{result['spans']} spans of {result['source']} in {result['notes']} notes {word} {result['target']} "
            f"({result['already_there']} stood there already)"
        )
