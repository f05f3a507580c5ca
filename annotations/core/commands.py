"""What the commands share: `--json`, `--by`, looking up objects by name, and reporting errors."""

import json
from typing import Any, NoReturn

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, ProgrammingError, connection
from django.db.migrations.executor import MigrationExecutor

from annotations.core.errors import LimitReached, ServiceError
from annotations.domain.notes import NoteError
from annotations.models import Deletion, Project, User


def find_project(slug: str) -> Project:
    projects = Project.objects.exclude(pk__in=Deletion.objects.values("pk"))
    project = projects.filter(slug=slug).first()
    if project is None:
        known = ", ".join(projects.order_by("slug").values_list("slug", flat=True)[:20]) or "none"
        raise ServiceError(f"There is no project “{slug}”. Projects: {known}.", code="project")
    return project


def find_user(name: str) -> User:
    user = User.objects.filter(username=name).first()
    if user is None:
        raise ServiceError(f"There is no account “{name}”.", code="user")
    return user


class JourneyCommand(BaseCommand):
    """A command whose `act` returns a result, printed as one JSON object with `--json`, else as text from `say`.

    On failure: exit status 1, the reason on stderr, and with `--json` also {"error", "code"} on stdout.
    """

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print the result as one JSON object.")
        parser.add_argument("--by", metavar="USER", help="The account to name in the audit log.")
        self.arguments(parser)

    def arguments(self, parser: CommandParser) -> None:
        """The command's own arguments."""

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        raise NotImplementedError

    def say(self, result: dict[str, Any]) -> str:
        raise NotImplementedError

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            actor = find_user(options["by"]) if options["by"] else None
            result = self.act(actor, **options)
        except (ServiceError, LimitReached) as error:
            self._fail(str(error), error.code, as_json=options["json"])
        except NoteError as error:
            self._fail(str(error), "note", as_json=options["json"])
        except ValidationError as error:
            self._fail(" ".join(error.messages), "invalid", as_json=options["json"])
        except (OperationalError, ProgrammingError) as error:
            if MigrationExecutor(connection).loader.applied_migrations:
                raise
            del error  # Its message may quote an SQL statement.
            self._fail("The database has no tables yet. Run “manage.py prepare”.", "empty", as_json=options["json"])
        text = json.dumps(result, ensure_ascii=False) if options["json"] else self.say(result)
        if text:
            self.stdout.write(text)
        if result.get("failed"):
            raise CommandError(str(result["failed"]))

    def _fail(self, message: str, code: str, *, as_json: bool) -> NoReturn:
        if as_json:
            self.stdout.write(json.dumps({"error": message, "code": code}, ensure_ascii=False))
        raise CommandError(message)
