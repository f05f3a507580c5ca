"""What the commands share: `--json`, `--by`, looking up objects by name, and reporting errors."""

import json
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any, Final, NoReturn

from django import forms
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, ProgrammingError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import QuerySet
from django.http import Http404

from annotations.core import access as core_access
from annotations.core.forms import WholeField
from annotations.core.services import LimitReached, Progress, ProjectArchived, ServiceError
from annotations.formats.files.csv_files import CsvRow, RowError, csv_line, csv_rows
from annotations.formats.notes import NoteError
from annotations.installation import PROGRAM
from annotations.models import Author, Deletion, Document, Label, Project, User


class RequiredStanding(StrEnum):
    """What the person of --by must be allowed where no right in a project decides."""

    SIGN_IN = "sign in"
    CREATE_PROJECTS = "create projects"
    SEE_QUEUES = "see the queues"
    ADMINISTER = "administer this instance"


Needs = core_access.Can | RequiredStanding | None


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


def find_active_user(name: str) -> User:
    """The person of --by. Raises ServiceError `user`, and `access` if the account is not active."""
    user = find_user(name)
    if not user.is_active:
        raise ServiceError(f"The account “{user.username}” is not active.", code="access")
    return user


def entered(actor: User | None, project: Project, right: core_access.Can) -> core_access.Access:
    """Return the project for the person of --by. Raises ServiceError `by` without one, and `access` without the right.

    Raises ProjectArchived where only the archived project lacks the right, and ServiceError `second-factor`.
    """
    if actor is None:
        raise ServiceError("Name the person who does this with --by USER.", code="by")
    try:
        return core_access.enter(actor, project.slug, right)
    except ProjectArchived:
        raise
    except core_access.SecondFactorMissing as error:
        raise ServiceError(
            f"“{actor.username}” needs two-factor sign-in to {right} in “{project.slug}”.", code=error.code
        ) from error
    except (Http404, PermissionDenied) as error:
        raise _refused(actor, f"{right} in “{project.slug}”") from error


def check_standing(actor: User, standing: RequiredStanding) -> None:
    """Raise ServiceError `access` unless the person of --by is allowed this."""
    if standing is RequiredStanding.CREATE_PROJECTS:
        allowed = core_access.may_create_projects(actor)
    elif standing is RequiredStanding.SEE_QUEUES:
        allowed = actor.is_staff
    else:
        allowed = standing is RequiredStanding.SIGN_IN or actor.is_superuser
    if not allowed:
        raise _refused(actor, str(standing))


def check_own(actor: User | None, user: User) -> None:
    """Raise ServiceError `access` if --by names another person than the one whose API tokens these are."""
    if actor is not None and actor != user:
        raise _refused(actor, f"see or change API tokens of “{user.username}”")


def check_shown(actor: User | None, project: Project, *, spec: str = "", author: int = 0) -> None:
    """Raise ServiceError `access` if the person of --by must not get the annotation sets of a spec or an author.

    A spec is as `run:rules-1`, and the person has entered the project.
    """
    if actor is not None:
        access = entered(actor, project, core_access.Can.SEE_PROJECT)
        if core_access.closed_to(access, spec=spec, authors=[author] if author else []):
            raise _refused(actor, f"read these annotation sets in “{project.slug}”")


def authors_shown(actor: User | None, project: Project) -> QuerySet[Author] | None:
    """Return the authors whose annotation sets the person of --by may see; None for everyone's, without a person."""
    return None if actor is None else core_access.authors_for(entered(actor, project, core_access.Can.READ_NOTES))


def _refused(actor: User, what: str) -> ServiceError:
    return ServiceError(f"“{actor.username}” doesn't have permission to {what}.", code="access")


def find_note(access: core_access.Access, name: str) -> Document:
    """Find a note that this person may open by its name. Raises ServiceError `note`."""
    found = core_access.notes_for(access).select_related("project").filter(name=name).first()
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
    with _reading(path, f" {unchanged}"):
        return path.read_text(encoding="utf-8")


def read_rows(path: Path, columns: Sequence[str]) -> list[CsvRow]:
    """Read the rows of a CSV file. Raises ServiceError `path`, `utf8` or `columns`."""
    with _reading(path), path.open(encoding="utf-8", newline="") as file:
        return csv_rows(iter(file), columns)


@contextmanager
def _reading(path: Path, unchanged: str = "") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ServiceError(f"Can't read “{path}”: {error.strerror}.{unchanged}", code="path") from error
    except UnicodeDecodeError as error:
        raise ServiceError(f"“{path}” is not UTF-8.{unchanged} Save it as UTF-8.", code="utf8") from error
    except RowError as error:
        raise ServiceError(f"“{path}”: {error}", code="columns") from error


def write_lines(path: Path, lines: Iterable[str]) -> int:
    """Write a new text file, and return the number of its lines. Raises ServiceError `path`, also where it exists."""
    count = 0
    try:
        # A file that exists may hold the work of hours.
        with path.open("x", encoding="utf-8", newline="") as file:
            for line in lines:
                file.write(line)
                count += 1
    except OSError as error:
        raise ServiceError(f"Can't write “{path}”: {error.strerror}.", code="path") from error
    return count


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> int:
    """Write a new CSV file, and return the number of its rows. Raises ServiceError `path`, also where it exists."""
    return write_lines(path, chain([csv_line(columns)], map(csv_line, rows))) - 1


def add_fields(parser: CommandParser, form: type[forms.Form], names: Iterable[str]) -> None:
    """Add an option for each of these fields of a form, with its choices and its help. Not given: None, or False."""
    for name in names:
        field = form.base_fields[name]
        words = [f"{field.label}.", str(field.help_text)]
        about: dict[str, Any] = {"help": " ".join(words).strip().replace("%", "%%")}
        if isinstance(field, forms.BooleanField):
            about["action"] = "store_true"
        elif isinstance(field, forms.ChoiceField):
            about["choices"] = [key for key, _title in field.widget.choices if key]
        else:
            kinds = {forms.FloatField: float, WholeField: int}
            about |= {"type": kinds.get(type(field), str), "metavar": name.upper()}
        parser.add_argument("--" + name.replace("_", "-"), **about)


def add_several(parser: CommandParser, option: str, metavar: str, about: str) -> None:
    """Add an option that may be given several times. Not given: an empty list."""
    parser.add_argument(option, action="append", default=[], metavar=metavar, help=f"{about} Repeatable.")


_WIDEST: Final = 120


def lines_of(answer: Any, indent: str = "") -> Iterator[str]:
    """An object or a list as lines for people. What is empty is left out, and what fits into a line gets one."""
    parts = answer.items() if isinstance(answer, dict) else (("", row) for row in answer)
    for name, value in parts:
        if value in _EMPTY:
            continue
        line, head = _line(value), f"{indent}{name}:" if name else f"{indent}-"
        if line is not None and (len(line) <= _WIDEST or not isinstance(value, dict | list)):
            yield f"{head} {line}" if name else f"{indent}{line}"
        else:
            yield head
            yield from lines_of(value, indent + "  ")


_EMPTY: Final[tuple[object, ...]] = (None, "", [], {})


def _line(value: Any) -> str | None:
    """A value as one line: a figure with its interval, an object of plain values, a list of them. None for others."""
    if isinstance(value, list):
        plain = not any(isinstance(one, dict | list) for one in value)
        return ", ".join(map(_shown, value)) if plain else None
    if not isinstance(value, dict):
        return _shown(value)
    if {"value", "low", "high"} <= value.keys():
        if value["value"] is None:
            return f"undefined. {value.get('why') or ''}".strip()
        interval = "" if value["low"] is None else f" ({_shown(value['low'])} to {_shown(value['high'])})"
        return _shown(value["value"]) + interval
    lines = {name: _line(one) for name, one in value.items() if one not in _EMPTY}
    if None in lines.values() or any(isinstance(one, dict) and not _is_figure(one) for one in value.values()):
        return None
    return ", ".join(f"{name} {line}" for name, line in lines.items())


def _is_figure(value: Any) -> bool:
    return not value or "value" in value


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(round(value, 4)) if isinstance(value, float) else str(value)


# Progress bars of commands. They are shown on a terminal only, on standard error; elsewhere nothing is printed.


@contextmanager
def progress_bar(title: str) -> Iterator[Progress]:
    """Show a bar while the block runs. The block gets a `Progress`, which may be called as often as one likes."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    # Imported only here: rich takes a tenth of a second, which no web process and no script shall pay for.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(title, total=None)

        def show(done: int, total: int) -> None:
            bars.update(task, completed=done, total=total or None)

        yield show


class FailingCommand(BaseCommand):
    """A command that ends with the reason on stderr, and with `--json` also {"error", "code"} on stdout."""

    requires_system_checks: list[str] = []  # They are for developers, and load the code of all pages.

    def _fail(self, message: str, code: str, *, as_json: bool) -> NoReturn:
        if as_json:
            self.stdout.write(json.dumps({"error": message, "code": code}, ensure_ascii=False))
        raise CommandError(message)


class JourneyCommand(FailingCommand):
    """A command whose `act` returns a result, printed as one JSON object with `--json`, else as text from `say`.

    By default, `say` gives one value in a line, like the command `do`.

    On failure: exit status 1, the reason on stderr, and with `--json` also {"error", "code"} on stdout.
    """

    needs: Needs = RequiredStanding.ADMINISTER
    """What the person of --by needs: a right in the project that the option `project` names, or a standing.

    It is the right that the pages and the API ask for. None: `act` checks it, with `entered` or `check_own`.
    """

    json_only: Collection[str] = ()
    """The names of values that only `--json` prints, such as long tables, also of the records inside of the result."""

    def needs_for(self, options: Mapping[str, Any]) -> Needs:
        """What the person of --by needs for these options. By default, `needs`."""
        return self.needs

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print the result as one JSON object.")
        parser.add_argument("--by", metavar="USER", help="The person who does this. Their rights are checked.")
        self.arguments(parser)

    def arguments(self, parser: CommandParser) -> None:
        """The command's own arguments."""

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        raise NotImplementedError

    def say(self, result: dict[str, Any]) -> str:
        def shown(record: dict[str, Any]) -> dict[str, Any]:
            return {name: value for name, value in record.items() if name not in self.json_only}

        return "\n".join(lines_of(json.loads(json.dumps(result, default=_as_json), object_hook=shown)))

    def failure(self, result: dict[str, Any]) -> str:
        """Why the command ends with status 1 after it said its result. Empty if it succeeded."""
        return str(result.get("failed") or "")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            actor = self._person(options) if options["by"] else None
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
        text = json.dumps(result, ensure_ascii=False, default=_as_json) if options["json"] else self.say(result)
        if text:
            self.stdout.write(text)
        if failure := self.failure(result):
            raise CommandError(failure)

    def _person(self, options: Mapping[str, Any]) -> User:
        """Return the person of --by. Raises ServiceError and ProjectArchived if the person may not do this."""
        actor = find_active_user(options["by"])
        needed = self.needs_for(options)
        if isinstance(needed, core_access.Can):
            entered(actor, find_project(options["project"]), needed)
        elif needed is not None:
            check_standing(actor, needed)
        return actor


class ProjectCommand(JourneyCommand):
    """A command about one project, whose short name is its first argument."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        super().add_arguments(parser)

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        return self.act_in(find_project(options.pop("project")), actor, **options)

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        raise NotImplementedError


def _as_json(value: Any) -> Any:
    """Return a record or a moment of a result as JSON has it."""
    return value.isoformat(timespec="seconds") if isinstance(value, datetime) else asdict(value)
