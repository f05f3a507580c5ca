"""What a project's overview says of imported work."""

from annotations.core import overview
from annotations.core.access import Access, Can
from annotations.ops.services.archives.claiming import imported_self


def register() -> None:
    overview.own.register(5, Can.ANNOTATE, imported)


def imported(access: Access) -> list[overview.Card]:
    found = imported_self(access.project, access.user)
    return [overview.Card("archives/overview_imported.html", found)] if found else []
