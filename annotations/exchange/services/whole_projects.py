"""The format that holds a whole project. The feature that reads and writes it registers itself."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.formats import DETECT
from annotations.formats.files.archives import is_archive
from annotations.models import Project, User

WHOLE: Final = "archive"
"""The name of the format, as used for `--format`."""


class Export(Protocol):
    """Writes a project to a new file. Raises ServiceError."""

    def __call__(self, *, project: Project, out: Path, actor: User | None) -> dict[str, Any]: ...


class Load(Protocol):
    """Makes a new project of this short name from a file. Raises ServiceError."""

    def __call__(self, *, path: Path, slug: str, actor: User | None) -> dict[str, Any]: ...


class WholeProjects(NamedTuple):
    """What reads and writes whole projects, and says what it did."""

    export: Export
    say_exported: Callable[[dict[str, Any]], str]
    load: Load
    say_loaded: Callable[[dict[str, Any]], str]


_registered: list[WholeProjects] = []


def register(whole: WholeProjects) -> None:
    """Make the format known to the commands of exports and imports."""
    _registered[:] = [whole]


def whole_projects() -> WholeProjects:
    """What was registered."""
    (whole,) = _registered
    return whole


def is_whole(path: Path, format: str) -> bool:
    """Whether a path is to be read as a whole project: by its format, or if that is to be detected, by its content."""
    if format != DETECT or not path.is_file():
        return format == WHOLE
    with path.open("rb") as file:
        return is_archive(file)


def check_alone(given: Mapping[str, object]) -> None:
    """Raise ServiceError if options of the command, by their names, were given. They don't fit a whole project."""
    named = [option for option, value in given.items() if value]
    if named:
        raise ServiceError(
            _("An archive holds a whole project, so these options can't be used with it: %(options)s. Leave them out.")
            % {"options": ", ".join(named)},
            code="options",
        )
