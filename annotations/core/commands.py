"""What the commands share: `--json`, `--by`, looking up objects by name, and reporting errors."""

import json
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NoReturn

from django.core.exceptions import PermissionDenied, ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, ProgrammingError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import Http404

from annotations.core.access import Access, Can, enter, notes_for
from annotations.core.archived import ProjectArchived
from annotations.core.errors import LimitReached, ServiceError
from annotations.domain.files.csv_lines import csv_line
from annotations.domain.files.csv_rows import Row, RowError, csv_rows
from annotations.domain.installation import PROGRAM
from annotations.domain.notes import NoteError
from annotations.models import Deletion, Document, Label, Project, User


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


def entered(actor: User | None, project: Project, right: Can) -> Access:
    """Return the project for the person of --by. Raises ServiceError `by` without one, and `access` without the right.

    Raises ProjectArchived where only the archived project lacks the right.
    """
    if actor is None:
        raise ServiceError("Name the person who does this with --by USER.", code="by")
    try:
        return enter(actor, project.slug, right)
    except ProjectArchived:
        raise
    except (Http404, PermissionDenied) as error:
        raise ServiceError(
            f"“{actor.username}” doesn't have permission to {right} in “{project.slug}”.", code="access"
        ) from error


def check_right(actor: User | None, project: Project, right: Can) -> None:
    """Check the right of the person of --by, if one is named. Raises ServiceError `access` and ProjectArchived."""
    if actor is not None:
        entered(actor, project, right)


def find_note(access: Access, name: str) -> Document:
    """Find a note that this person may open by its name. Raises ServiceError `note`."""
    found = notes_for(access).select_related("project").filter(name=name).first()
    if found is None:
        raise ServiceError(
            f"“{access.user.username}” can open no note “{name[:80]}” in “{access.project.slug}”.", code="note"
        )
    return found


def find_label(project: Project, name: str) -> Label:
    """Find a label by its code or its name. Raises ServiceError `label`, which lists the labels."""
    labels = list(Label.objects.filter(label_set__project=project, merged_into__isnull=True).order_by("code"))
    for label in labels:
        if name in (label.code, label.name):
            return label
    known = ", ".join(label.code for label in labels)
    raise ServiceError(f"There is no label “{name}” in “{project.slug}”. Labels: {known}.", code="label")


def read_text(path: Path, unchanged: str) -> str:
    """Read a text file. Raises ServiceError `path` or `utf8`, which says with `unchanged` that nothing was done."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ServiceError(f"Can't read “{path}”: {error.strerror}. {unchanged}", code="path") from error
    except UnicodeDecodeError as error:
        raise ServiceError(f"“{path}” is not UTF-8. {unchanged} Save it as UTF-8.", code="utf8") from error


def read_rows(path: Path, columns: Sequence[str]) -> list[Row]:
    """Read the rows of a CSV file. Raises ServiceError `path`, `utf8` or `columns`."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return csv_rows(iter(file), columns)
    except OSError as error:
        raise ServiceError(f"Can't read “{path}”: {error.strerror}.", code="path") from error
    except UnicodeDecodeError as error:
        raise ServiceError(f"“{path}” is not UTF-8. Save it as UTF-8.", code="utf8") from error
    except RowError as error:
        raise ServiceError(f"“{path}”: {error}", code="columns") from error


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> int:
    """Write a new CSV file, and return the number of its rows. Raises ServiceError `path`, also where it exists."""
    count = 0
    try:
        # A file that exists may hold the work of hours.
        with path.open("x", encoding="utf-8", newline="") as file:
            file.write(csv_line(columns))
            for cells in rows:
                file.write(csv_line(cells))
                count += 1
    except OSError as error:
        raise ServiceError(f"Can't write “{path}”: {error.strerror}.", code="path") from error
    return count


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
            self._fail(f"The database has no tables yet. Run: {PROGRAM} prepare", "empty", as_json=options["json"])
        text = json.dumps(result, ensure_ascii=False) if options["json"] else self.say(result)
        if text:
            self.stdout.write(text)
        if result.get("failed"):
            raise CommandError(str(result["failed"]))

    def _fail(self, message: str, code: str, *, as_json: bool) -> NoReturn:
        if as_json:
            self.stdout.write(json.dumps({"error": message, "code": code}, ensure_ascii=False))
        raise CommandError(message)


class LinesCommand(JourneyCommand):
    """A command that writes lines to a file, or to standard output, where they leave no place for an object."""

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--output", metavar="FILE", help="File to write. Default: standard output.")

    def lines(self, actor: User | None, **options: Any) -> Iterable[str]:
        """The lines, each with its line break."""
        raise NotImplementedError

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        path = options["output"]
        if options["json"] and not path:
            raise ServiceError("With --json, name the file for the lines with --output FILE.", code="output")
        count = 0
        lines = self.lines(actor, **options)
        try:
            with Path(path).open("w", encoding="utf-8", newline="") if path else nullcontext(self.stdout) as out:
                for line in lines:
                    out.write(line, ending="") if out is self.stdout else out.write(line)
                    count += 1
        except OSError as error:
            raise ServiceError(f"Cannot write “{path}”: {error.strerror}.", code="output") from None
        return {"file": path, "lines": count}

    def say(self, result: dict[str, Any]) -> str:
        return ""
