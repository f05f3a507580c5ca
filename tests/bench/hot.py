"""What people and processes do all day, as requests to the product's own views and calls of its own services."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

from django.test import Client

from annotations.gold.services.making import make_gold
from annotations.gold.services.sets import wanted_set
from annotations.jobs.services.sweep import sweep
from annotations.models import Label, Span, User
from annotations.transfer.services.exporting import ExportReport, export_files
from tests.bench.generated import STEP, Large


@dataclass(frozen=True)
class Action:
    name: str
    act: Callable[[], object]
    # Counts or walks the whole project by intention: shown, but not expected to stay small.
    summary: bool = False


class Person:
    """A signed-in person. Raises AssertionError where a page does not come: its plan would be worthless."""

    def __init__(self, user: User, slug: str) -> None:
        self.client = Client(SERVER_NAME="localhost", raise_request_exception=True)
        self.client.force_login(user)
        self.base, self.pk = f"/projects/{slug}/", user.pk
        self.client.get("/")  # the first request of a session writes it

    def get(self, path: str, status: int = 200, **headers: str) -> Callable[[], object]:
        def act() -> object:
            answer = self.client.get(self.base + path, headers=headers)
            assert answer.status_code == status, f"{path}: {answer.status_code}"
            return answer

        return act

    def post(self, path: str, data: dict[str, Any], status: int = 200) -> Callable[[], object]:
        def act() -> object:
            answer = self.client.post(self.base + path, data | {"person": self.pk}, content_type="application/json")
            assert answer.status_code == status, f"{path}: {answer.status_code} {answer.content[:200]!r}"
            return answer

        return act


def actions(large: Large) -> Iterator[Action]:
    slug = large.project.slug
    annotator, manager = Person(large.annotator, slug), Person(large.manager, slug)
    yield from _annotating(annotator, large)
    yield from _looking(manager, large)
    yield from _walking(large)


def _annotating(person: Person, large: Large) -> Iterator[Action]:
    yield Action("open a note", person.get(f"notes/{large.begun}/annotate/"))
    yield Action("open a note not begun", person.get(f"notes/{large.unread}/annotate/"))
    yield Action("next note", person.get(f"notes/next/?after={large.begun}", 302))
    yield Action("annotator's list", person.get("notes/"))
    yield Action("annotator's list, deep", person.get(f"notes/?after={large.begun}"))
    yield Action("spans again (another tab)", person.get(f"notes/{large.begun}/spans"))
    for name, data in _changes(large).items():
        yield Action(name, person.post(f"notes/{large.begun}/changes", data))
    yield Action("the first span of a note", person.post(f"notes/{large.unread}/changes", _create(large, large.unread)))
    yield Action("submit", person.post(f"notes/{large.begun}/submit", {}))
    yield Action("reopen", person.post(f"notes/{large.read}/reopen", {}))


def _create(large: Large, note: int) -> dict[str, Any]:
    text = large.project.documents.get(pk=note).text
    label = Label.objects.filter(label_set__project=large.project).first()
    assert label is not None  # a project begins with labels
    return {
        "change_id": str(uuid4()),
        "kind": "create",
        "start": 0,
        "end": 8,
        "label": label.pk,
        "quote": text[0:8],
    }


def _changes(large: Large) -> dict[str, dict[str, Any]]:
    """A change of each kind, of a span in the reading that was begun."""
    text = large.project.documents.get(pk=large.begun).text
    span = Span.objects.filter(
        annotation_set__document_id=large.begun, annotation_set__author__user=large.annotator, start__gt=10 * STEP
    ).first()
    assert span is not None and span.label_id is not None
    other = Label.objects.filter(label_set__project=large.project).exclude(pk=span.label_id).first()
    assert other is not None
    known: dict[str, Any] = {"span": span.pk, "seen": [span.start, span.end, span.label_id]}
    further = next(end for end in range(span.end + 1, span.end + 5) if not text[end - 1].isspace())
    moved = {"start": span.start, "end": further, "quote": text[span.start : further]}
    changes = {
        "a span": _create(large, large.begun),
        "relabel": {"kind": "relabel", "label": other.pk, **known},
        "resize": {"kind": "resize", **known, **moved},
        "delete": {"kind": "delete", **known},
    }
    return {name: {"change_id": str(uuid4())} | change for name, change in changes.items()}


def _looking(person: Person, large: Large) -> Iterator[Action]:
    middle = large.read
    yield Action("list of projects", lambda: person.client.get("/"))
    yield Action("overview", person.get(""))
    yield Action("list of notes", person.get("notes/"))
    yield Action("list of notes, deep", person.get(f"notes/?after={middle}"))
    yield Action("list of notes, back", person.get(f"notes/?before={middle}"))
    yield Action("list: gold, deep", person.get(f"notes/?state=gold&after={large.gold}"))
    yield Action("list: without gold", person.get("notes/?state=no-gold"))
    yield Action("list: fully read", person.get("notes/?state=read"))
    yield Action("list: still being read", person.get(f"notes/?state=unread&after={middle}"))
    yield Action("all readings of a note", person.get(f"notes/{middle}/"))
    yield Action("next proposals to review", person.get(f"review/{large.run.pk}/", 302))
    yield Action("gold page", person.get("gold/"))
    yield Action("gold version", person.get("gold/1/"))
    yield Action("export page", person.get("export/"))
    yield Action("audit", person.get("audit/"))
    yield Action("audit of one person", person.get(f"audit/?person={large.annotator.pk}"))
    yield Action("jobs", person.get("jobs/"))
    yield Action("runs", person.get("runs/"))
    yield Action("labels", person.get("labels/"), summary=True)
    yield Action("people", person.get("people/"), summary=True)
    yield Action("agreement", person.get("agreement/"), summary=True)
    yield Action("settings", person.get("settings/"), summary=True)
    yield Action("patients", person.get("patients/"), summary=True)


def _walking(large: Large) -> Iterator[Action]:
    """What workers and the relay do."""
    note = large.project.documents.get(pk=large.read)
    reading = note.annotation_sets.get(author__user=large.annotator)
    make = partial(make_gold, document=note, annotation_set=reading, actor=large.manager)
    yield Action("make one reading gold", make)
    yield Action("the relay's round", sweep)
    yield Action("export, its first notes", lambda: _some(large, "gold"), summary=True)
    yield Action("export of a frozen version, its first notes", lambda: _some(large, "gold:1"), summary=True)


def _some(large: Large, spec: str) -> None:
    """The beginning of an export: its statements come batch by batch, each like the first."""
    wanted = wanted_set(large.project, spec)
    files = export_files(large.project, wanted, "brat", ExportReport(set=spec, format="brat"))
    for _ in range(600):
        next(files)
