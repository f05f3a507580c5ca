"""Rows for tests: `make_project()`, `make_user()`, `make_member()`, `make_note()` and so on, all with defaults.

They write rows directly, without services, so that a test of one service doesn't depend on another.
"""

import hashlib
import itertools
from collections.abc import Iterable, Sequence
from typing import TypeVar

from django.db import transaction
from django.db.models import F, Model

from annotations.core.suggestions import add_notes
from annotations.models import (
    AnnotationSet,
    AnnotationSetState,
    Assignment,
    Author,
    AuthorKind,
    Category,
    Document,
    ErrorCause,
    GoldVersion,
    Label,
    LabelSet,
    Membership,
    Project,
    Role,
    Span,
    SuggestedNote,
    SuggestedString,
    User,
)
from annotations.text.hashes import string_key
from models_runtime.models import Calibration, Run
from models_runtime.training.jobs.calibration import calibration_of
from models_runtime.training.rules.curves import Outcomes

Row = TypeVar("Row", bound=Model)
Spot = tuple[int, int, str]
NO_SPOT: Spot = (0, 0, "")
PASSWORD = "correct horse battery"
_numbers = itertools.count(1)

# Categories, each with its labels and their keys.
LABELS: list[tuple[str, list[tuple[str, str]]]] = [
    ("NAME", [("PATIENT", "1"), ("DOCTOR", "2")]),
    ("DATE", [("DATE", "d")]),
    ("LOCATION", [("CITY", "c"), ("HOSPITAL", "h")]),
    ("AGE", [("AGE", "")]),
]


def change(row: Row, /, **fields: object) -> None:
    """Change fields of a row, and save it."""
    for name, value in fields.items():
        setattr(row, name, value)
    row.save()


def reread(row: Row) -> Row:
    """Read the row's fields again. Return the row."""
    row.refresh_from_db()
    return row


def make_user(username: str | None = None, **fields: object) -> User:
    """Create a user who signs in with PASSWORD."""
    return User.objects.create_user(username=username or f"person{next(_numbers)}", password=PASSWORD, **fields)


def make_label_set(project: Project, labels: Sequence[tuple[str, list[tuple[str, str]]]] = LABELS) -> LabelSet:
    label_set = LabelSet.objects.create(project=project, key="test", name="Test labels")
    categories = Category.objects.bulk_create(
        Category(label_set=label_set, code=f"C{number}", name=name, hue=(number * 3) % 12, position=number)
        for number, (name, _) in enumerate(labels)
    )
    members = [(category, *member) for category, (_, some) in zip(categories, labels, strict=True) for member in some]
    Label.objects.bulk_create(
        Label(
            label_set=label_set,
            category=category,
            code=name if name.isascii() and name.isalnum() else f"L{position}",
            name=name,
            hotkey=hotkey,
            placeholder=f"[{name}]"[:60],
            position=position,
        )
        for position, (category, name, hotkey) in enumerate(members)
    )
    return label_set


def make_project(
    slug: str | None = None,
    labels: Sequence[tuple[str, list[tuple[str, str]]]] = LABELS,
    **fields: object,
) -> Project:
    """Create a project with a small label set (PATIENT 1, DOCTOR 2, DATE d, CITY c, HOSPITAL h, AGE without a key)."""
    slug = slug or f"project-{next(_numbers)}"
    project = Project.objects.create(slug=slug, **{"name": slug.replace("-", " ").title(), **fields})
    make_label_set(project, labels)
    return project


def make_member(project: Project, role: str = Role.ANNOTATOR, user: User | str | None = None) -> User:
    """Add a member to the project, with a new account unless one is given. Return the user."""
    person = user if isinstance(user, User) else make_user(user, created_in=project)
    Membership.objects.create(project=project, user=person, role=role)
    return person


def make_note(
    project: Project, text: str = "Mario Rossi, 54 anni, visto il 12/03/2021 a Torino.", name: str | None = None,
    *, annotators: Iterable[User] = (), **fields: object,
) -> Document:  # fmt: skip
    """Create a note that is assigned to the annotators."""
    note = Document.objects.create(
        project=project,
        name=name or f"note-{next(_numbers):03}",
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        length=len(text),
        text=text,
        **fields,
    )
    for annotator in annotators:
        Assignment.objects.create(project=project, document=note, user=annotator)
    return note


def make_author(project: Project, user: User | None = None, kind: str = AuthorKind.ANNOTATOR, name: str = "") -> Author:
    name = name or (user.username if user else f"author{next(_numbers)}")
    return Author.objects.get_or_create(project=project, kind=kind, name=name, defaults={"user": user})[0]


def make_set(
    note: Document,
    author: User | Author | str,
    spans: Iterable[tuple[int, int, str]] = (),
    *,
    submitted: bool = False,
    **fields: object,
) -> AnnotationSet:
    """Create an annotation set with spans (start, end, label name), in code points, end-exclusive.

    Both at once, so that no open page reads the set without its spans. The author may be given in words, such as “gold”
    or “run:rules-1”; such a set is always submitted.
    """
    if isinstance(author, User):
        author = make_author(note.project, author)
    if isinstance(author, str):
        kind, _, name = author.partition(":")
        author, submitted = make_author(note.project, kind=kind, name=name or kind), True
    state = AnnotationSetState.SUBMITTED if submitted else AnnotationSetState.DRAFT
    with transaction.atomic():
        annotation_set = AnnotationSet.objects.create(document=note, author=author, state=state, **fields)
        _make_spans(annotation_set, list(spans))
    return annotation_set


def make_span(annotation_set: AnnotationSet, start: int, end: int, label: str) -> Span:
    AnnotationSet.objects.filter(pk=annotation_set.pk).update(version=F("version") + 1)
    return _make_spans(annotation_set, [(start, end, label)])[0]


def _make_spans(annotation_set: AnnotationSet, spans: Sequence[tuple[int, int, str]]) -> list[Span]:
    """Create spans, and for a model's annotation set the rows of their strings, with few queries."""
    if not spans:
        return []
    note, author = annotation_set.document, annotation_set.author
    labels = {label.name: label for label in Label.objects.filter(label_set__project_id=note.project_id)}
    made = [Span(annotation_set=annotation_set, start=start, end=end, label=labels[name]) for start, end, name in spans]
    if author.kind not in Author.MODELS:
        return Span.objects.bulk_create(made)
    for span in made:
        span.string_key = string_key(note.text[span.start : span.end])
    alike: dict[tuple[int | None, int], list[Span]] = {}
    for span in Span.objects.bulk_create(made):
        alike.setdefault((span.string_key, span.label_id), []).append(span)
    for (key, label), some in alike.items():
        string = SuggestedString.objects.filter(author=author, string_key=key, label_id=label)
        if not string.update(count=F("count") + len(some), open=F("open") + len(some)):
            SuggestedString.objects.create(
                author=author, string_key=key, label_id=label, count=len(some), open=len(some), sample=some[0].pk
            )
    return made


def list_for_review(author: Author) -> None:
    """Write what a run or an import writes of its notes beside the suggestions, for sets that `make_set` has made."""
    there = SuggestedNote.objects.filter(author=author).values("document")
    sets = AnnotationSet.objects.filter(author=author, state=AnnotationSetState.SUBMITTED).exclude(document__in=there)
    add_notes(author.pk, dict(sets.order_by("pk").values_list("pk", "document_id")))


def label_of(project: Project, name: str) -> Label:
    return Label.objects.get(label_set__project=project, name=name)


def make_calibration(run: Run, version: GoldVersion, **fields: object) -> Calibration:
    """Create a calibration of the run's backend from sixty spans with confidence 0.9, half of them right."""
    outcomes = Outcomes()
    for at in range(60):
        outcomes.add("PATIENT", 0.9, right=at % 2 == 0, fold=at % 5)
    made = calibration_of(
        outcomes, Outcomes(), version, backend=run.backend, revision=run.revision, model=run.model, notes=30
    )
    made.run = run
    for name, value in fields.items():
        setattr(made, name, value)
    made.save()
    return made


def make_error_cause(
    author: Author, note: Document, user: User, *, kind: str = "AB", gold: Spot = NO_SPOT, predicted: Spot = NO_SPOT
) -> ErrorCause:
    """Create a cause of an error whose spans have label codes, such as (0, 4, "PATIENT")."""
    bounds = {
        f"{name}_{column}": value
        for name, span in (("gold", gold), ("predicted", predicted))
        for column, value in zip(("start", "end", "label"), span, strict=True)
    }
    return ErrorCause.objects.create(author=author, document=note, by=user, kind=kind, **bounds)
