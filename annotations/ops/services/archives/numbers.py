"""Numbers in place of primary keys: a row's number in an archive is its position in its table, from 1.

Rows are written in the order of their primary keys. Before an import stores rows, it reserves as many primary keys as
the manifest lists rows, so that a row may refer to a later one.
"""

import uuid
from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any, Final

from django.db import connection, models
from django.db.models import Q
from django.utils.translation import gettext as _

from annotations.core.authors import IMPORTED
from annotations.models import Author, AuthorKind, Document, Event, Project, User


class Bad(ValueError):
    """A value of an archive that can't be taken. The message is the end of a sentence; it quotes no note."""


class Gone(Exception):
    """A row that was deleted after another row had named it."""


def file_of(model: type[models.Model]) -> str:
    """The file of a table in the archive."""
    return f"{model._meta.model_name}.jsonl"


class ToArchive:
    """Numbers of the rows of a project, and names of its people, in a database that shows one moment."""

    importing: Final = False

    def __init__(
        self, project: Project, using: str, rows: "Callable[[type[models.Model]], models.QuerySet[Any]]"
    ) -> None:
        self._using, self._rows = using, rows
        self._keys: dict[type[models.Model], Sequence[Any]] = {}
        self.people: dict[int, str] = {}
        acts = Event.objects.using(using).filter(project_id=project.pk).order_by().values("actor")
        here = User.objects.using(using).filter(Q(memberships__project=project) | Q(pk__in=acts))
        annotators = Author.objects.using(using).filter(project=project, kind=AuthorKind.ANNOTATOR)
        names = [*here.values_list("username", flat=True), *annotators.values_list("name", flat=True)]
        self._here = {name.lower() for name in names}

    def row(self, model: type[models.Model], key: Any) -> int:
        """The number of a row. Raises Gone."""
        if model not in self._keys:
            every = self._rows(model).values_list("pk", flat=True).iterator()
            numbered = isinstance(model._meta.pk, models.UUIDField)
            self._keys[model] = list(every) if numbered else array("q", every)
        keys = self._keys[model]
        key = uuid.UUID(key) if isinstance(key, str) else key
        at = bisect_left(keys, key)
        if at == len(keys) or keys[at] != key:
            raise Gone
        return at + 1

    def person(self, key: int) -> str:
        """The user name of a person, who is listed in the archive."""
        if key not in self.people:
            self.people[key] = self.name(User.objects.using(self._using).values_list("username", flat=True).get(pk=key))
        return self.people[key]

    def name(self, name: str) -> str:
        """A name without the mark of imports, unless somebody who works here has that name."""
        plain = name.removesuffix(IMPORTED)
        return name if plain.lower() in self._here else plain


class FromArchive:
    """Primary keys of the rows that an archive numbers. A row about a note can only name rows about the same note."""

    importing: Final = True

    def __init__(self, keys: dict[type[models.Model], Sequence[Any]], people: dict[str, int]) -> None:
        self._keys, self._people = keys, people
        self._notes: dict[type[models.Model], array[int]] = {}
        self._later: list[tuple[type[models.Model], int, int, tuple[str, int]]] = []
        self.lengths: array[int] = array("q")
        self.at = ("", 0)
        # The number of the note that the present row is about; 0 for none.
        self.note = 0

    @property
    def length(self) -> int | None:
        """The length of the row's note in code points."""
        return self.lengths[self.note - 1] if self.note else None

    def begin(self, file: str, line: int) -> None:
        """Begin a row."""
        self.at, self.note = (file, line), 0

    def end(self, model: type[models.Model]) -> None:
        """Keep the note that the row is about."""
        self._notes.setdefault(model, array("q")).append(self.note)

    def key(self, model: type[models.Model], number: int) -> Any:
        return self._keys[model][number - 1]

    def row(self, model: type[models.Model], number: Any) -> Any:
        """The primary key of a row. Raises Bad."""
        if type(number) is not int or not 1 <= number <= len(self._keys[model]):
            raise Bad(_("must be the number of a row of %(file)s") % {"file": file_of(model)})
        notes = self._notes.get(model, ())
        if self.note and number > len(notes) and model is not Document:
            self._later.append((model, number, self.note, self.at))
        else:
            self._meet(number if model is Document else notes[number - 1] if number <= len(notes) else 0)
        return self.key(model, number)

    def _meet(self, note: int) -> None:
        if note and self.note and note != self.note:
            raise Bad(_("names a row about another note"))
        self.note = note or self.note

    def wrong_later(self) -> tuple[str, int] | None:
        """The file and line of a row that named a later row about another note."""
        for model, number, note, at in self._later:
            if self._notes[model][number - 1] not in (0, note):
                return at
        return None

    def person(self, name: Any) -> int:
        if not isinstance(name, str) or name not in self._people:
            raise Bad(_("names a person who is not in people.jsonl"))
        return self._people[name]

    def name(self, name: str) -> str:
        return name + IMPORTED


Numbers = ToArchive | FromArchive


def reserve(model: type[models.Model], count: int) -> Sequence[Any]:
    """Reserve primary keys for new rows inside the caller's transaction, in ascending order."""
    key: Any = model._meta.pk
    if isinstance(key, models.UUIDField):
        first = uuid.uuid4().int & ~0xFFFFFFFF
        return [uuid.UUID(int=first + number) for number in range(count)]
    if not isinstance(key, models.AutoField):
        return range(1, count + 1)
    table = model._meta.db_table
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            numbers = "SELECT nextval(pg_get_serial_sequence(%s, %s)) FROM generate_series(1, %s)"
            cursor.execute(numbers, [table, key.column, count])
            return array("q", (number for (number,) in cursor))
        cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table])
        last = cursor.fetchone()
    first = last[0] + 1 if last else 1
    return range(first, first + count)
