from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project, read_text
from annotations.models import User
from annotations.records.selectors import newest_schema, version_before
from annotations.records.services.schemas import (
    SHIPPED_PREFIX,
    activate_schema,
    add_schema,
    review_schema,
    shipped_schemas,
    summary,
)

ACTS: Final = {"review": review_schema, "activate": activate_schema}


class Command(JourneyCommand):
    help = (
        "Add a schema of records as a draft, confirm its review, or activate it. The person who reviews is another one "
        "than the person who added it, except where a project's only manager works alone."
    )
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("act", choices=["add", *ACTS, "show"])
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        about = (
            f"To add: the file of a schema, or {SHIPPED_PREFIX}TYPE for one that deidreview brings "
            f"({', '.join(shipped_schemas())}). Else: the type of the records, whose newest version is meant."
        )
        parser.add_argument("what", metavar="FILE|TYPE", help=about)

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project, what, act = find_project(options["project"]), options["what"], options["act"]
        if act == "add":
            text = what if what.startswith(SHIPPED_PREFIX) else read_text(Path(what), "Nothing was added.")
            row = add_schema(project=project, text=text, actor=actor)
        else:
            row = newest_schema(project, what)
            if act in ACTS:
                row = ACTS[act](schema=row, actor=actor)
        return summary(row, version_before(row))
