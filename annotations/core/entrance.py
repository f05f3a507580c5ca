"""The rows by which `access` decides about a request, in one query: person, membership, project, note, assignment.

Django builds the SQL of a query anew each time, which costs more than to run it. Nothing is decided here. Each request
reads the rows anew, so that a right that was withdrawn is gone with the next request.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections, models

from annotations.models import Assignment, AssignmentState, Document, DocumentSource, Membership, Project, User
from annotations.models.prepared import object_of

_ADDRESS: Final = re.compile(r"(?:/api/v\d+)?/projects/(?P<slug>[-\w]+)/(?:notes/(?P<note>\d{1,18})(?:/|$))?")
_HELD: Final = (AssignmentState.OPEN, AssignmentState.DONE)
_Row = TypeVar("_Row", bound=models.Model)


@dataclass
class Entrance:
    """What was read for a request. `note`: the note of its address, with its source, if it is one of the project.

    `assigned`: the person has an assignment to the note that nobody released.
    """

    membership: Membership
    note: Document | None
    assigned: bool


class _Columns(Generic[_Row]):
    """The columns of a table in the query, and how their values become an object."""

    def __init__(self, model: type[_Row], alias: str) -> None:
        connection = connections[DEFAULT_DB_ALIAS]
        # Points in time are loaded when somebody asks for them: SQLite has them as text, and few requests need one.
        fields = [
            field
            for field in model._meta.concrete_fields
            if not isinstance(field, models.DateTimeField) or field.name == "archived_at"
        ]
        self._model, self._names = model, [field.attname for field in fields]
        self._key = next(at for at, field in enumerate(fields) if field.primary_key)
        self._converted = []
        for at, field in enumerate(fields):
            column = field.get_col(alias)
            found = [*connection.ops.get_db_converters(column), *column.get_db_converters(connection)]
            if found:
                self._converted.append((at, found, column))
        quote = connection.ops.quote_name
        self.sql = ", ".join(f"{alias}.{quote(str(field.column))}" for field in fields)

    def take(self, values: list[Any]) -> _Row | None:
        """Take the columns from the front of the values of a row. None where the row has none of this table."""
        own = values[: len(self._names)]
        del values[: len(self._names)]
        if own[self._key] is None:
            return None
        connection = connections[DEFAULT_DB_ALIAS]
        for at, converters, column in self._converted:
            for convert in converters if own[at] is not None else ():
                own[at] = convert(own[at], column, connection)
        return object_of(self._model, self._names, own)


@dataclass(frozen=True)
class _Prepared:
    user: _Columns[User]
    membership: _Columns[Membership]
    project: _Columns[Project]
    note: _Columns[Document]
    source: _Columns[DocumentSource]
    without_note: str
    with_note: str


@cache
def _prepared() -> _Prepared:
    users, memberships, projects = _Columns(User, "u"), _Columns(Membership, "m"), _Columns(Project, "p")
    notes, sources = _Columns(Document, "d"), _Columns(DocumentSource, "s")
    tables = [one._meta.db_table for one in (User, Project, Membership, Document, DocumentSource, Assignment)]
    user, project, membership, note, source, assignment = map(connections[DEFAULT_DB_ALIAS].ops.quote_name, tables)
    always = f"{users.sql}, {memberships.sql}, {projects.sql}"
    joined = (
        f" FROM {user} u"
        f" JOIN {project} p ON p.slug = %s"
        f" JOIN {membership} m ON m.project_id = p.id AND m.user_id = u.id AND m.active"
    )
    one_note = (
        f" LEFT JOIN {note} d ON d.id = %s AND d.project_id = p.id"
        f" LEFT JOIN {source} s ON s.document_id = d.id"
        f" LEFT JOIN {assignment} a ON a.document_id = d.id AND a.user_id = u.id AND a.state IN (%s, %s)"
    )
    where = " WHERE u.id = %s"
    without_note = f"SELECT {always}{joined}{where}"
    with_note = f"SELECT {always}, {notes.sql}, {sources.sql}, a.id{joined}{one_note}{where}"
    return _Prepared(users, memberships, projects, notes, sources, without_note, with_note)


def entering(person: int, path: str) -> User | None:
    """Return the person, with the rows for a request of this path as their `entrance`. None unless they are a member.

    `person` is the id of an account.
    """
    found = _ADDRESS.match(path)
    if found is None:
        return None
    query = _prepared()
    about_note: list[Any] = [int(found["note"]), *_HELD] if found["note"] else []
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(query.with_note if about_note else query.without_note, [found["slug"], *about_note, person])
        row: Sequence[Any] | None = cursor.fetchone()
    if row is None:
        return None
    values = list(row)
    user, membership, project = query.user.take(values), query.membership.take(values), query.project.take(values)
    assert user is not None and membership is not None and project is not None
    membership.project, membership.user = project, user
    note = query.note.take(values) if values else None
    source = query.source.take(values) if values else None
    if note is not None:
        Document._meta.get_field("source").set_cached_value(note, source)  # None: it is known that there is none
    user.entrance = Entrance(membership, note, bool(values and values[0]))
    return user
