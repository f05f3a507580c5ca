from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.commands import JourneyCommand, RequiredStanding, find_user, read_text
from annotations.models import User
from annotations.projects.services.projects import create_project, set_guidelines


class Command(JourneyCommand):
    help = "Create a project with its own copy of a shipped label set. Prints the short name (slug) of the project."
    needs = RequiredStanding.CREATE_PROJECTS

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="Name of the project.")
        parser.add_argument(
            "--labels", required=True, metavar="SET", help="Label set: i2b2-2014, meddocan, hipaa-18, it-4, …"
        )
        parser.add_argument("--language", default="", help="Language of notes imported without one, for example es.")
        parser.add_argument("--slug", help="Short name. By default made from NAME.")
        parser.add_argument("--manager", metavar="USER", help="Account that becomes the first manager.")
        parser.add_argument("--guidelines", metavar="FILE", type=Path, help="Markdown file with the guidelines.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        # Read the file first, so that an unreadable file doesn't leave a project without guidelines.
        guidelines = read_text(options["guidelines"], "Nothing was created.") if options["guidelines"] else ""
        project = create_project(
            name=options["name"],
            label_set_key=options["labels"],
            language=options["language"],
            slug=options["slug"],
            manager=find_user(options["manager"]) if options["manager"] else None,
            actor=actor,
        )
        if guidelines:
            set_guidelines(project=project, text=guidelines, actor=actor)
        return {
            "project": project.slug,
            "name": project.name,
            "label_set": project.label_set.key,
            "labels": project.label_set.labels.count(),
        }
