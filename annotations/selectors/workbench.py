"""What the workbench shows: a person's own reading of a note, the labels, and the list of their notes."""

from dataclasses import dataclass
from typing import TypedDict

from django.db.models import QuerySet

from annotations.access import Access, Can
from annotations.models import AnnotationSet, Assignment, Author, Document, Label, Span, User

# How many notes the list shows before and after the open one.
AROUND = 25
# Styles in static/css/note.css: underline-0 and so on.
UNDERLINES = 6


class SpanItem(TypedDict):
    """A span as pages get it; offsets in code points, end-exclusive."""

    id: int
    start: int
    end: int
    label: int


class LabelItem(TypedDict):
    id: int
    name: str
    key: str
    description: str
    category: str
    hue: int
    underline: int


@dataclass(frozen=True)
class NoteItem:
    """A line of the notes list. `state` is open, done, or empty where the note isn't this person's to read."""

    pk: int
    name: str
    state: str


@dataclass(frozen=True)
class WorkList:
    """The notes around the open one, and how far this person is."""

    notes: list[NoteItem]
    done: int
    total: int
    previous: int | None
    next: int | None

    @property
    def left(self) -> int:
        return self.total - self.done


def own_sets(document_id: int, user: User) -> QuerySet[AnnotationSet]:
    """The one annotation set of this person for this note, if there is one: readings are blind to each other."""
    return AnnotationSet.objects.filter(
        document_id=document_id, author__user_id=user.pk, author__kind=Author.Kind.ANNOTATOR
    )


def own_set(document_id: int, user: User) -> AnnotationSet | None:
    return own_sets(document_id, user).only("id", "state", "version", "blind").first()


def spans_of(annotation_set_id: int) -> list[SpanItem]:
    """All spans of one reading in reading order."""
    rows = (
        Span.objects.filter(annotation_set_id=annotation_set_id)
        .order_by("start", "end", "id")
        .values_list("id", "start", "end", "label_id")
    )
    return [SpanItem(id=pk, start=start, end=end, label=label) for pk, start, end, label in rows]


def labels_of(project_id: int) -> list[LabelItem]:
    """The project's labels in their order; merged ones are gone."""
    rows = (
        Label.objects.filter(label_set__project_id=project_id, merged_into__isnull=True)
        .select_related("category")
        .order_by("category__position", "category_id", "position", "id")
    )
    return [
        LabelItem(
            id=label.pk,
            name=label.name,
            key=label.hotkey,
            description=label.description,
            category=label.category.name,
            hue=label.category.hue,
            underline=label.category.position % UNDERLINES,
        )
        for label in rows
    ]


def work_list(access: Access, note: Document) -> WorkList:
    """The person's notes around `note`. Who may read all notes and has none assigned sees the project's."""
    mine = _assigned(access)
    done, total = progress(access)
    found = _assigned_around(mine, note.pk)
    if note.pk not in found and access.can(Can.READ_NOTES):
        found |= _project_around(access.project.pk, note.pk) if not total else {note.pk: (note.name, "")}
    order = sorted(found)
    at = order.index(note.pk) if note.pk in found else -1
    return WorkList(
        notes=[NoteItem(pk, *found[pk]) for pk in order],
        done=done,
        total=total,
        previous=order[at - 1] if at > 0 else None,
        next=order[at + 1] if 0 <= at < len(order) - 1 else None,
    )


def _assigned(access: Access) -> QuerySet[Assignment]:
    return Assignment.objects.filter(project_id=access.project.pk, user_id=access.user.pk)


def progress(access: Access) -> tuple[int, int]:
    """How many of their notes this person has done, and how many there are."""
    done = _assigned(access).filter(state=Assignment.State.DONE).count()
    return done, done + _assigned(access).filter(state=Assignment.State.OPEN).count()


def _assigned_around(mine: QuerySet[Assignment], pk: int) -> dict[int, tuple[str, str]]:
    """A query for each state and side, each a short walk along `assignment_work_list` whatever the project's size."""
    found: dict[int, tuple[str, str]] = {}
    for state in (Assignment.State.OPEN, Assignment.State.DONE):
        rows = mine.filter(state=state).values_list("document_id", "document__name")
        after = rows.filter(document_id__gte=pk).order_by("document_id")[: AROUND + 1]
        before = rows.filter(document_id__lt=pk).order_by("-document_id")[:AROUND]
        found |= {note: (name, str(state)) for note, name in [*after, *before]}
    return _nearest(found, pk)


def _project_around(project_id: int, pk: int) -> dict[int, tuple[str, str]]:
    rows = Document.objects.filter(project_id=project_id).values_list("pk", "name")
    after = rows.filter(pk__gte=pk).order_by("pk")[: AROUND + 1]
    before = rows.filter(pk__lt=pk).order_by("-pk")[:AROUND]
    return {note: (name, "") for note, name in [*after, *before]}


def _nearest(found: dict[int, tuple[str, str]], pk: int) -> dict[int, tuple[str, str]]:
    """Only what is surely without gaps: AROUND notes on each side."""
    before = sorted((note for note in found if note < pk), reverse=True)[:AROUND]
    after = sorted(note for note in found if note >= pk)[: AROUND + 1]
    return {note: found[note] for note in [*before, *after]}


def next_note(access: Access, after: int | None = None) -> int | None:
    """The person's next open note after `after`, else their first open one; None when nothing is left."""
    todo = _assigned(access).filter(state=Assignment.State.OPEN).order_by("document_id")
    found = None
    if after is not None:
        found = todo.filter(document_id__gt=after).values_list("document_id", flat=True).first()
    return found or todo.values_list("document_id", flat=True).first()
