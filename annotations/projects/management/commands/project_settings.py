from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, Needs, find_project
from annotations.core.errors import ServiceError
from annotations.core.forms import valid
from annotations.models import Author, Project, User
from annotations.projects.forms.settings import SettingsForm
from annotations.projects.selectors.seeds import runs_with_notes
from annotations.projects.services.projects import SETTINGS, update_project

YES_OR_NO = {"yes": True, "true": True, "no": False, "false": False}


class Command(JourneyCommand):
    help = "Show the settings of a project, or change some of them."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        parser.add_argument(
            "--set", action="append", default=[], metavar="NAME=VALUE",
            help="Change a setting; repeatable. VALUE is yes or no, a number, a word, or empty for none; seed_from is "
            "the name of a run.",
        )  # fmt: skip

    def needs_for(self, options: Mapping[str, Any]) -> Needs:
        return Can.MANAGE if options["set"] else Can.ARCHIVE

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        changes = _changes(options["set"])
        if changes:
            form = SettingsForm(_values(project) | _read(project, changes), runs=runs_with_notes(project))
            project = update_project(project=project, actor=actor, **valid(form))
        values = _values(project)
        return {"project": project.slug} | values | {"seed_from": project.seed_from and project.seed_from.name}

    def say(self, result: dict[str, Any]) -> str:
        return "\n".join(f"{name}: {_said(value)}" for name, value in result.items())


def _said(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else "" if value is None else str(value)


def _changes(words: list[str]) -> dict[str, str]:
    changes = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in SETTINGS:
            raise ServiceError(
                f"“{word[:80]}” is not NAME=VALUE. The settings are: {', '.join(sorted(SETTINGS))}.", code="set"
            )
        changes[name] = value.strip()
    return changes


def _values(project: Project) -> dict[str, Any]:
    """The settings in a fixed order."""
    values = {field: getattr(project, field) for field in sorted(SETTINGS - {"seed_from"})}
    return values | {"seed_from": project.seed_from_id}


def _read(project: Project, changes: dict[str, str]) -> dict[str, Any]:
    """The values as the form reads them. Raises ServiceError `set` or `seed_from`."""
    found: dict[str, Any] = {}
    for name, value in changes.items():
        if name == "seed_from" and value:
            found[name] = _run(project, value).pk
        elif isinstance(SettingsForm.base_fields[name], forms.BooleanField):
            if value.lower() not in YES_OR_NO:
                raise ServiceError(f"{name} must be yes or no, not “{value[:80]}”.", code="set")
            found[name] = YES_OR_NO[value.lower()]
        else:
            found[name] = value
    return found


def _run(project: Project, name: str) -> Author:
    rows = runs_with_notes(project)
    found = rows.filter(name=name.removeprefix("run:")).first()
    if found is None:
        known = ", ".join(row.name for row in rows) or "none"
        raise ServiceError(f"There is no run “{name[:80]}” with finished notes. Runs: {known}.", code="seed_from")
    return found
