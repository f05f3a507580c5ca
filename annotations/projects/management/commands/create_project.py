from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.commands import JourneyCommand, find_user
from annotations.core.errors import ServiceError
from annotations.models import User
from annotations.projects.services.projects import create_project, set_guidelines


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
        # Read first: a file that can't be read must not leave a project without guidelines behind.
        guidelines = _text(options["guidelines"]) if options["guidelines"] else ""
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

    def say(self, result: dict[str, Any]) -> str:
        return f"project {result['project']} with {result['labels']} labels of {result['label_set']}"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ServiceError(f"{path}: can't be read ({error.strerror}); nothing was made", code="path") from error
    except UnicodeDecodeError as error:
        raise ServiceError(f"{path}: not UTF-8; nothing was made", code="utf8") from error
