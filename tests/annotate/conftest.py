import uuid
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from annotations.annotate.services.spans import ChangedSpans, apply_change
from annotations.core.access import enter
from annotations.core.changes import ChangeRefused, read_change
from annotations.models import Document, Event, Label, Project, Span, User
from annotations.projects.services.labels import merge_labels
from tests import factories as make
from tests.held import made_once

TEXT = "Mario Rossi, 54 anni, visto il 12/03/2021 a Torino dal dott. Bianchi."
PARTS = [("Mario Rossi", "PATIENT"), ("54", "AGE"), ("Torino", "CITY"), ("Bianchi", "DOCTOR")]


def at(text: str, part: str, nth: int = 0) -> tuple[int, int]:
    """Start and end of the n-th `part` in the text, in code points."""
    start = -1
    for _ in range(nth + 1):
        start = text.index(part, start + 1)
    return start, start + len(part)


def label_ids(project: Project) -> dict[str, int]:
    return dict(Label.objects.filter(label_set__project=project).values_list("name", "pk"))


def create(note: Document, labels: dict[str, int], part: str, name: str, **over: Any) -> dict[str, Any]:
    """A change that labels the first `part` of the note, as a page would send it."""
    start, end = at(note.text, part)
    return step("create", start=start, end=end, label=labels[name], quote=part) | over


def alter(kind: str, span: dict[str, Any], **over: Any) -> dict[str, Any]:
    """A relabel, resize or delete of a span from an answer."""
    return step(kind, span=span["id"], seen=[span["start"], span["end"], span["label"]]) | over


def step(kind: str, **over: Any) -> dict[str, Any]:
    return {"change_id": str(uuid.uuid4()), "kind": kind} | over


def many(world: SimpleNamespace, parts: Sequence[tuple[str, str]] = PARTS, **over: Any) -> dict[str, Any]:
    """A change that labels the first of each of these parts."""
    wanted = [(*at(world.note.text, part), world.labels[label], part) for part, label in parts]
    spans = [dict(zip(("start", "end", "label", "quote"), each, strict=True)) for each in wanted]
    return step("create_many", spans=spans) | over


def do(world: SimpleNamespace, data: dict[str, Any], user: User | None = None) -> ChangedSpans:
    """Apply a change to the annotations of ann, or of another person."""
    return apply_change(access=enter(user or world.ann, world.project.slug), note=world.note, change=read_change(data))


def refused(world: SimpleNamespace, data: dict[str, Any]) -> ChangeRefused:
    """The error of a change, which leaves all rows as they are."""

    def rows() -> Any:
        return list(Span.objects.order_by("pk").values_list("pk", "start", "end", "label_id")), Event.objects.count()

    before = rows()
    with pytest.raises(ChangeRefused) as caught:
        do(world, data)
    assert rows() == before
    return caught.value


def made(world: SimpleNamespace, part: str, label: str, user: User | None = None) -> dict[str, Any]:
    """Create a span, and return it."""
    span = do(world, create(world.note, world.labels, part, label), user).span
    assert span
    return dict(span)


def merge(world: SimpleNamespace, source: str, target: str) -> None:
    labels = (make.label_of(world.project, name) for name in (source, target))
    merge_labels(**dict(zip(("source", "target"), labels, strict=True)), actor=world.mia)


def make_world() -> SimpleNamespace:
    """One note, two annotators of it, a third without it, a reviewer, a viewer, a manager and a stranger."""
    project = make.make_project("covid")
    ann, ben, cas = (make.make_member(project, user=name) for name in ("ann", "ben", "cas"))
    note = make.make_note(project, TEXT, "caso-001", annotators=[ann, ben])
    return SimpleNamespace(
        project=project, note=note, ann=ann, ben=ben, cas=cas, rev=make.make_member(project, "reviewer", "rev"),
        vic=make.make_member(project, "viewer", "vic"), mia=make.make_member(project, "manager", "mia"),
        out=make.make_user("out"), labels=label_ids(project),
    )  # fmt: skip


made_world, world = made_once(make_world, name="made_world")
