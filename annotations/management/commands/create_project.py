from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.management.journey import JourneyCommand, find_user
from annotations.models import User
from annotations.services.projects import create_project, set_guidelines


class Command(JourneyCommand):
    help = "Make a project with its own copy of a shipped label set. Prints its short name (slug)."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME")
        parser.add_argument("--labels", required=True, metavar="SET", help="i2b2-2014, meddocan, hipaa-18, it-4, …")
        parser.add_argument("--language", default="", help="of notes that name none, e.g. es")
        parser.add_argument("--slug", help="short name; made from NAME when left out")
        parser.add_argument("--manager", metavar="USER", help="an account that becomes the first member")
        parser.add_argument("--guidelines", metavar="FILE", type=Path, help="Markdown")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = create_project(
            name=options["name"],
            label_set_key=options["labels"],
            language=options["language"],
            slug=options["slug"],
            manager=find_user(options["manager"]) if options["manager"] else None,
            actor=actor,
        )
        if options["guidelines"]:
            set_guidelines(project=project, text=options["guidelines"].read_text(encoding="utf-8"), actor=actor)
        return {
            "project": project.slug,
            "name": project.name,
            "label_set": project.label_set.key,
            "labels": project.label_set.labels.count(),
        }

    def say(self, result: dict[str, Any]) -> str:
        return f"project {result['project']} with {result['labels']} labels of {result['label_set']}"
