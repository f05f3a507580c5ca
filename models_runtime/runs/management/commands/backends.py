from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, Needs, RequiredStanding, find_project
from annotations.models import User
from models_runtime.runs.services.backend_rows import BackendItem, backend_rows


class Command(JourneyCommand):
    help = "List the backends and whether they can run: ready, library or weights missing, no worker."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", nargs="?", help="Also list its trained models and last runs.")

    def needs_for(self, options: Mapping[str, Any]) -> Needs:
        return Can.READ_NOTES if options["project"] else RequiredStanding.SIGN_IN

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"]) if options["project"] else None
        return {
            "project": project.slug if project else None,
            "backends": [asdict(BackendItem.of(row)) for row in backend_rows(project)],
        }
