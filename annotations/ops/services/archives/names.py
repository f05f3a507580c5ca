"""Names in place of primary keys: what the rows of a project are called in an archive.

A person is a user name, a note its name, an author [kind, name], a label its code, a suggestion the author, bounds and
label of its span, and a bulk act or a majority vote its number in the project. People who were imported have their
names without the mark, unless somebody who works here has the same name.
"""

from collections.abc import Iterable
from typing import Any

from django.db.models import Q

from annotations.core.authors import IMPORTED
from annotations.models import AnnotationSet, Author, BulkAct, Comment, Event, Label, MajorityAct, Project, Span, User


class Names:
    """The names of a project's rows, read from the database `using`, which shows one moment.

    The names of spans and annotation sets are looked up for a batch of rows at a time (`look_up`).
    """

    def __init__(self, project: Project, using: str) -> None:
        self.using = using
        authors = Author.objects.using(using).filter(project=project).order_by("pk").values_list("pk", "kind", "name")
        acts = Event.objects.using(using).filter(project_id=project.pk).order_by().values("actor")
        here = User.objects.using(using).filter(Q(memberships__project=project) | Q(pk__in=acts))
        people = [name for _pk, kind, name in authors if kind == Author.Kind.ANNOTATOR]
        self._here = {name.lower() for name in [*here.values_list("username", flat=True), *people]}
        self._authors = {
            pk: [kind, self.plain(name) if kind == Author.Kind.ANNOTATOR else name] for pk, kind, name in authors
        }
        labels = Label.objects.using(using).filter(label_set__project=project)
        self._labels = dict(labels.values_list("pk", "code"))
        self._bulk = _numbered(BulkAct.objects.using(using).filter(project=project).order_by("created_at", "pk"))
        self._votes = _numbered(MajorityAct.objects.using(using).filter(project=project).order_by("created_at", "pk"))
        self._comments = _numbered(Comment.objects.using(using).filter(document__project=project).order_by("pk"))
        self._people: dict[int, str] = {}
        self._spans: dict[int, list[Any]] = {}
        self._sets: dict[int, list[str]] = {}

    @property
    def people(self) -> dict[int, str]:
        """The user names, by user id, of everybody who was named so far."""
        return self._people

    def plain(self, name: str) -> str:
        """The user name or name of an annotator in the archive."""
        found = name.removesuffix(IMPORTED)
        return name if found.lower() in self._here else found

    def person(self, pk: int | None) -> str | None:
        if pk is None:
            return None
        if pk not in self._people:
            name = User.objects.using(self.using).values_list("username", flat=True).get(pk=pk)
            self._people[pk] = self.plain(name)
        return self._people[pk]

    def author(self, pk: int | None) -> list[str] | None:
        """None for no author, and for one that was deleted."""
        return None if pk is None else self._authors.get(pk)

    def author_name(self, pk: int) -> str:
        return self._authors[pk][1]

    def label(self, pk: int | None) -> str | None:
        return None if pk is None else self._labels.get(pk)

    def bulk(self, pk: Any) -> int | None:
        return self._bulk.get(str(pk))

    def vote(self, pk: Any) -> int | None:
        return self._votes.get(str(pk))

    def comment(self, pk: int | None) -> int | None:
        return self._comments.get(str(pk))

    def look_up(self, spans: Iterable[int], sets: Iterable[int]) -> None:
        """Look up the names of these spans and annotation sets, and forget all others."""
        rows = Span.objects.using(self.using).filter(pk__in=set(spans)).order_by()
        columns = ("pk", "annotation_set__author_id", "start", "end", "label_id")
        self._spans = {
            pk: [*self._authors[author], start, end, self._labels[label]]
            for pk, author, start, end, label in rows.values_list(*columns)
            if author in self._authors
        }
        held = AnnotationSet.objects.using(self.using).filter(pk__in=set(sets)).order_by()
        self._sets = {
            pk: self._authors[author] for pk, author in held.values_list("pk", "author_id") if author in self._authors
        }

    def span(self, pk: int | None) -> list[Any] | None:
        """None for no span, and for one that was deleted."""
        return None if pk is None else self._spans.get(pk)

    def set(self, pk: int | None) -> list[str] | None:
        return None if pk is None else self._sets.get(pk)


def _numbered(rows: Any) -> dict[str, int]:
    return {str(pk): number for number, pk in enumerate(rows.values_list("pk", flat=True), start=1)}
