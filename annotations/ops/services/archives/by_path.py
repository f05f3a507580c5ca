"""Archives by a path on this machine, for commands: write one, make a project from one, and say what was done."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.progress import progress_bar
from annotations.formats import DETECT
from annotations.formats.files.archives import is_archive
from annotations.models import Project, User
from annotations.ops.services.archives.reading import import_archive
from annotations.ops.services.archives.writing import archive_to_path

WHOLE: Final = "archive"
"""The name of the format, as used for `--format`."""


def export_to(*, project: Project, out: Path, actor: User | None) -> dict[str, Any]:
    """Write an archive to a new file. Raises ServiceError."""
    out = out.absolute()
    with progress_bar("Exporting") as progress:
        written = archive_to_path(project=project, out=out, actor=actor, progress=progress)
    return {"file": str(out), **written._asdict()}


def say_exported(result: dict[str, Any]) -> str:
    """What `export_to` did, as a sentence."""
    return (
        f"Wrote {result['file']}: {result['notes']:,} notes, {result['sets']:,} annotation sets, "
        f"{result['spans']:,} spans. SHA-256: {result['sha256']}"
    )


def import_from(*, path: Path, slug: str, actor: User | None) -> dict[str, Any]:
    """Make a new project from an archive; an empty `slug` takes the short name in the archive. Raises ServiceError."""
    try:
        with path.open("rb") as file:
            imported = import_archive(file=file, slug=slug, actor=actor)
    except OSError as error:
        raise ServiceError(f"Can't read “{path}”: {error.strerror}.", code="path") from error
    return {"project": imported.slug, **{key: n for key, n in imported._asdict().items() if key != "slug"}}


def say_imported(result: dict[str, Any]) -> str:
    """What `import_from` did, in sentences."""
    return (
        f"Imported project {result['project']}: {result['notes']:,} notes, {result['sets']:,} annotation sets, "
        f"{result['spans']:,} spans. People: {result['people']:,}; their work is marked as imported, and nobody became "
        "a member. Add members with add_member."
    )


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
