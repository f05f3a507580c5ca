from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, entered, find_project, read_text
from annotations.core.errors import ServiceError
from annotations.models import User
from models_runtime.refining.selectors.skills import described, present
from models_runtime.refining.services.skills import set_skill


class Command(JourneyCommand):
    help = "List a project's guidance for refining agents, print one, or replace it by that of a Markdown file."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("name", metavar="NAME", nargs="?", default="", help="Such as locations.")
        parser.add_argument(
            "--from", dest="source", metavar="FILE", type=Path, help="Markdown file to replace it by. Needs NAME."
        )
        parser.add_argument(
            "--labels", nargs="+", metavar="CODE", help="Its labels, or * for all. Default: as they are."
        )

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project, name = find_project(options["project"]), options["name"]
        if not name:
            if options["source"] or options["labels"]:
                raise ServiceError("Give the NAME of the guidance to change.", code="name")
            rows = described(project)
            return {"skills": [{"name": row.name, "labels": row.labels, "version": row.version} for row in rows]}
        labels, text, version = present(project, name)
        if options["source"] or options["labels"]:
            if actor is not None:
                entered(actor, project, Can.MANAGE)
            version = set_skill(
                project=project,
                name=name,
                labels=options["labels"] or labels,
                text=read_text(options["source"], "Nothing was changed.") if options["source"] else text,
                actor=actor,
            )
            labels, text, version = present(project, name)
        return {"name": name, "version": version, "labels": labels, "text": text}

    def say(self, result: dict[str, Any]) -> str:
        if "skills" in result:
            return "\n".join(
                f"{row['name']} (version {row['version']}): {', '.join(row['labels'])}" for row in result["skills"]
            )
        return str(result["text"]) or "There is no such guidance."
