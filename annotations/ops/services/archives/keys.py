"""Primary keys in place of names: which rows of this database the names in an archive stand for."""

import uuid
from collections.abc import Iterable
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from annotations.core.authors import IMPORTED
from annotations.models import (
    AnnotationSet,
    Author,
    Category,
    Comment,
    Document,
    GoldVersion,
    Label,
    LabelMapping,
    Project,
    Review,
    Span,
)


class Bad(ValueError):
    """A value of an archive that can't be taken. The message is the end of a sentence; it quotes no note."""


class Note(NamedTuple):
    pk: int
    length: int


SpanKey = tuple[int, int, str]


class Keys:
    """The primary keys of the rows that were imported so far. Notes, sets and spans are looked up batch by batch."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._people: dict[str, int] = {}
        self._labels: dict[str, int] = {}
        self._categories: dict[str, int] = {}
        self._authors: dict[tuple[str, str], int] = {}
        self._numbered: dict[str, list[uuid.UUID]] = {"bulk": [], "vote": []}
        self._comments: list[int] | None = None
        self._versions: dict[int, int] = {}
        self._mappings: dict[str, int] = {}
        self._notes: dict[str, Note] = {}
        self._sets: dict[tuple[int, int], int] = {}
        self._reviews: dict[tuple[int, int], int] = {}
        self._spans: dict[tuple[int, int], dict[SpanKey, int]] = {}
        self._read: set[int] = set()
        # The note of the row that is being read; None outside of rows about notes.
        self.note: Note | None = None

    def know_people(self, people: dict[str, int]) -> None:
        self._people = people

    def know_labels(self) -> None:
        self._labels = dict(Label.objects.filter(label_set__project=self.project).values_list("code", "pk"))

    def know_authors(self) -> None:
        rows = Author.objects.filter(project=self.project).values_list("kind", "name", "pk")
        people = Author.Kind.ANNOTATOR
        self._authors = {(kind, name.removesuffix(IMPORTED) if kind == people else name): pk for kind, name, pk in rows}

    def begin(self, notes: Iterable[str]) -> None:
        """Look up the notes of the next batch of rows, and forget the last batch."""
        rows = Document.objects.filter(project=self.project, name__in=set(notes)).order_by()
        self._notes = {name: Note(pk, length) for name, pk, length in rows.values_list("name", "pk", "length")}
        self._sets, self._reviews, self._spans, self._read = {}, {}, {}, set()
        self.note = None

    def person(self, name: Any) -> int:
        if not isinstance(name, str) or name not in self._people:
            raise Bad(_("names a person who is not in people.jsonl"))
        return self._people[name]

    def category(self, code: Any) -> int:
        if not self._categories:
            rows = Category.objects.filter(label_set__project=self.project)
            self._categories = dict(rows.values_list("code", "pk"))
        if not isinstance(code, str) or code not in self._categories:
            raise Bad(_("names a category that is not in categories.jsonl"))
        return self._categories[code]

    def label(self, code: Any) -> int:
        if not isinstance(code, str) or code not in self._labels:
            raise Bad(_("names a label that is not in labels.jsonl"))
        return self._labels[code]

    def author(self, name: Any) -> int:
        match name:
            case [str(kind), str(called)] if (kind, called) in self._authors:
                return self._authors[kind, called]
        raise Bad(_("names an author who is not in authors.jsonl"))

    def take_note(self, name: Any) -> Note:
        """The note of this name, which becomes the note of the row."""
        if not isinstance(name, str) or name not in self._notes:
            raise Bad(_("names a note that is not in notes.jsonl"))
        self.note = self._notes[name]
        return self.note

    def number(self, kind: str) -> uuid.UUID:
        """A new primary key for the next act of this kind."""
        self._numbered[kind].append(uuid.uuid4())
        return self._numbered[kind][-1]

    def act(self, kind: str, number: Any) -> uuid.UUID:
        acts = self._numbered[kind]
        if type(number) is not int or not 1 <= number <= len(acts):
            raise Bad(_("gives the number of an act that is not in the archive"))
        return acts[number - 1]

    def version(self, number: Any) -> int:
        """The primary key of a gold version by its number."""
        if not self._versions:
            self._versions = dict(GoldVersion.objects.filter(project=self.project).values_list("number", "pk"))
        if type(number) is not int or number not in self._versions:
            raise Bad(_("names a gold version that is not in gold_versions.jsonl"))
        return self._versions[number]

    def mapping(self, name: Any) -> int:
        """The primary key of a label mapping by its name."""
        if not self._mappings:
            self._mappings = dict(LabelMapping.objects.filter(project=self.project).values_list("name", "pk"))
        if not isinstance(name, str) or name not in self._mappings:
            raise Bad(_("names a label mapping that is not in label_mappings.jsonl"))
        return self._mappings[name]

    def comment(self, number: Any) -> int:
        """The primary key of a comment by its number. All comments must be stored."""
        if self._comments is None:
            rows = Comment.objects.filter(document__project=self.project).order_by("pk")
            self._comments = list(rows.values_list("pk", flat=True))
        if type(number) is not int or not 1 <= number <= len(self._comments):
            raise Bad(_("gives the number of a comment that is not in the archive"))
        return self._comments[number - 1]

    def annotation_set(self, author: int) -> int:
        """The author's annotation set on the note of the row."""
        return self._of_note(self._sets, AnnotationSet, author, _("names an annotation set that is not in sets.jsonl"))

    def review(self, author: int) -> int:
        """The review of this run's suggestions on the note of the row."""
        return self._of_note(self._reviews, Review, author, _("names a review that is not in reviews.jsonl"))

    def _of_note(self, known: dict[tuple[int, int], int], model: Any, author: int, missing: str) -> int:
        if not known:
            rows = model.objects.filter(document__in=self._pks()).order_by()
            known |= {(note, by): pk for pk, note, by in rows.values_list("pk", "document_id", "author_id")}
        if self.note is None or (self.note.pk, author) not in known:
            raise Bad(missing)
        return known[self.note.pk, author]

    def span(self, author: int, start: Any, end: Any, code: Any) -> int:
        """The author's span with these bounds and this label in the note of the row."""
        if author not in self._read:
            self._read.add(author)
            rows = Span.objects.filter(annotation_set__document__in=self._pks(), annotation_set__author=author)
            columns = ("pk", "annotation_set__document_id", "start", "end", "label__code")
            for pk, note, first, last, label in rows.order_by().values_list(*columns):
                self._spans.setdefault((note, author), {})[first, last, label] = pk
        found = self._spans.get((self.note.pk, author), {}) if self.note else {}
        if type(start) is not int or type(end) is not int or not isinstance(code, str):
            raise Bad(_("must give a span as start, end and label"))
        if (start, end, code) not in found:
            raise Bad(_("names a span that is not in sets.jsonl"))
        return found[start, end, code]

    def _pks(self) -> list[int]:
        return [note.pk for note in self._notes.values()]
