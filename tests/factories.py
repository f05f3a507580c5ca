"""Small rows for tests: `make_project()`, `make_user()`, `make_member()`, `make_note()` and so on, all with defaults.

They write rows directly, past the services, so that a test of one service doesn't lean on another.
"""

import hashlib
import itertools
from collections.abc import Iterable, Sequence

from django.db.models import F

from annotations.domain.calibration import Outcomes
from annotations.domain.strings import string_key
from annotations.models import (
    AnnotationSet,
    Assignment,
    Author,
    Category,
    Document,
    GoldVersion,
    Label,
    LabelSet,
    Membership,
    Project,
    ProposedString,
    Role,
    Span,
    User,
)
from models_runtime.calibration.jobs import calibration_of
from models_runtime.models import Calibration, Run

PASSWORD = "correct horse battery"
_numbers = itertools.count(1)

# Categories, each with its labels and their keys.
LABELS: list[tuple[str, list[tuple[str, str]]]] = [
    ("NAME", [("PATIENT", "1"), ("DOCTOR", "2")]),
    ("DATE", [("DATE", "d")]),
    ("LOCATION", [("CITY", "c"), ("HOSPITAL", "h")]),
    ("AGE", [("AGE", "")]),
]


def make_user(username: str | None = None, **fields: object) -> User:
    """A person who signs in with PASSWORD."""
    return User.objects.create_user(username=username or f"person{next(_numbers)}", password=PASSWORD, **fields)


def make_label_set(project: Project, labels: Sequence[tuple[str, list[tuple[str, str]]]] = LABELS) -> LabelSet:
    label_set = LabelSet.objects.create(project=project, key="test", name="Test labels")
    position = 0
    for place, (category_name, members) in enumerate(labels):
        category = Category.objects.create(
            label_set=label_set, code=f"C{place}", name=category_name, hue=(place * 3) % 12, position=place
        )
        for name, hotkey in members:
            code = name if name.isascii() and name.isalnum() else f"L{position}"
            Label.objects.create(
                label_set=label_set,
                category=category,
                code=code,
                name=name,
                hotkey=hotkey,
                placeholder=f"[{name}]"[:60],
                position=position,
            )
            position += 1
    return label_set


def make_project(
    slug: str | None = None,
    labels: Sequence[tuple[str, list[tuple[str, str]]]] = LABELS,
    **fields: object,
) -> Project:
    """A project with a small label set (PATIENT 1, DOCTOR 2, DATE d, CITY c, HOSPITAL h, AGE without a key)."""
    slug = slug or f"project-{next(_numbers)}"
    project = Project.objects.create(slug=slug, **{"name": slug.replace("-", " ").title(), **fields})
    make_label_set(project, labels)
    return project


def make_member(project: Project, role: str = Role.ANNOTATOR, user: User | str | None = None) -> User:
    """A member of the project, whose account it made unless one is given; returns the person."""
    person = user if isinstance(user, User) else make_user(user, created_in=project)
    Membership.objects.create(project=project, user=person, role=role)
    return person


def make_note(
    project: Project, text: str = "Mario Rossi, 54 anni, visto il 12/03/2021 a Torino.", name: str | None = None,
    *, readers: Iterable[User] = (), **fields: object,
) -> Document:  # fmt: skip
    """A note, assigned to `readers`."""
    note = Document.objects.create(
        project=project,
        name=name or f"note-{next(_numbers):03}",
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        length=len(text),
        text=text,
        **fields,
    )
    for reader in readers:
        Assignment.objects.create(project=project, document=note, user=reader)
    return note


def make_author(
    project: Project, user: User | None = None, kind: str = Author.Kind.ANNOTATOR, name: str = ""
) -> Author:
    name = name or (user.username if user else f"author{next(_numbers)}")
    return Author.objects.get_or_create(project=project, kind=kind, name=name, defaults={"user": user})[0]


def make_set(
    note: Document,
    author: User | Author,
    spans: Iterable[tuple[int, int, str]] = (),
    *,
    submitted: bool = False,
    **fields: object,
) -> AnnotationSet:
    """An annotation set with spans (start, end, label name), in code points, end-exclusive."""
    if isinstance(author, User):
        author = make_author(note.project, author)
    state = AnnotationSet.State.SUBMITTED if submitted else AnnotationSet.State.DRAFT
    reading = AnnotationSet.objects.create(document=note, author=author, state=state, **fields)
    for start, end, label in spans:
        make_span(reading, start, end, label)
    return reading


def make_span(reading: AnnotationSet, start: int, end: int, label: str) -> Span:
    found = Label.objects.get(label_set__project_id=reading.document.project_id, name=label)
    if reading.author.kind not in Author.MODELS:
        return Span.objects.create(annotation_set=reading, start=start, end=end, label=found)
    key = string_key(reading.document.text[start:end])
    made = Span.objects.create(annotation_set=reading, start=start, end=end, label=found, string_key=key)
    string = ProposedString.objects.get_or_create(
        author=reading.author, string_key=key, label_id=found.pk, defaults={"sample": made.pk}
    )[0]
    ProposedString.objects.filter(pk=string.pk).update(count=F("count") + 1, open=F("open") + 1)
    return made


def label_of(project: Project, name: str) -> Label:
    return Label.objects.get(label_set__project=project, name=name)


def make_calibration(run: Run, version: GoldVersion, **fields: object) -> Calibration:
    """A calibration of the run's backend, as if sixty spans said 0.9 and half of them were right."""
    outcomes = Outcomes()
    for at in range(60):
        outcomes.add("PATIENT", 0.9, right=at % 2 == 0, fold=at % 5)
    made = calibration_of(outcomes, version, backend=run.backend, revision=run.revision, model=run.model, notes=30)
    made.run = run
    for name, value in fields.items():
        setattr(made, name, value)
    made.save()
    return made
