"""What an archive says of itself, and errors of archives as errors for the user."""

from typing import IO, Final, NamedTuple

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.formats.files.archives import MANIFEST, ArchiveError, ArchiveReader
from annotations.ops.services.archives import tables
from annotations.ops.services.archives.people import Person, accounts_here, name_of
from annotations.ops.services.archives.rows import at

MOST_PEOPLE: Final = 10_000


class Found(NamedTuple):
    """What an archive says of itself, before it is imported."""

    slug: str
    name: str
    version: str
    counts: dict[str, int]
    people: list[Person]


def look_into(file: IO[bytes]) -> Found:
    """Check the manifest and the people of an archive. Raises ServiceError (`archive`)."""
    with said(), ArchiveReader(file, tables.NAMES) as archive:
        slug, name = named(archive)
        listed = archive.members[tables.PEOPLE]
        if listed.rows > MOST_PEOPLE or listed.bytes > MOST_PEOPLE * 1000:
            raise ArchiveError("The archive names more than 10,000 people.", file=tables.PEOPLE)
        archive.verify(tables.PEOPLE)
        rows = [(line, row, at(tables.PEOPLE, line, name_of, row)) for line, row in archive.rows(tables.PEOPLE)]
        here = accounts_here([name for _line, _row, name in rows])
        people = []
        for _line, row, called in rows:
            member = row["member"] if isinstance(row["member"], dict) else {}
            account = here.get(called.lower())
            people.append(
                Person(
                    called, str(member.get("role", "")), member.get("active") is True,
                    account.username if account else "",
                )
            )  # fmt: skip
        counts = archive.manifest.get("counts")
        return Found(
            slug, name, str(archive.manifest.get("version", "")),
            {key: value for key, value in counts.items() if type(value) is int} if isinstance(counts, dict) else {},
            people,
        )  # fmt: skip


def named(archive: ArchiveReader) -> tuple[str, str]:
    match archive.manifest.get("project"):
        case {"slug": str(slug), "name": str(name)} if slug and 0 < len(name) <= 120:
            return slug, name
    raise ArchiveError("“project” must give the project's slug and name.", file=MANIFEST)


class said:
    """Turns errors of the archive into errors for the user."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ArchiveError):
            raise ServiceError(_("%(error)s Nothing was imported.") % {"error": error}, code="archive") from None
