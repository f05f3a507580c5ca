"""The limits on the spans of one annotation set apply to every way of writing it, and nothing is lost."""

from types import SimpleNamespace
from typing import Any

import pytest

from annotations.core.changes import ChangeRefused
from annotations.models import AnnotationSet, Span
from tests.annotate.conftest import alter, at, create, do, made, many, refused, step

pytestmark = pytest.mark.django_db


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A set of four spans, two over one character, is full."""
    for module in ("annotations.text.spans", "annotations.core.changes"):
        monkeypatch.setattr(f"{module}.MOST_SPANS", 4)
        monkeypatch.setattr(f"{module}.DEEPEST", 2)


def no_room(world: SimpleNamespace, data: dict[str, Any]) -> ChangeRefused:
    error = refused(world, data)
    assert (error.code, error.status) == ("room", 422)
    return error


@pytest.mark.usefixtures("few")
def test_a_full_set_takes_no_further_span_and_can_be_emptied(world: SimpleNamespace) -> None:
    spans = [made(world, part, "CITY") for part in ("Mario", "54", "Torino", "Bianchi")]
    assert "at most 4 spans" in str(no_room(world, create(world.note, world.labels, "anni", "AGE")))
    no_room(world, many(world, [("anni", "AGE"), ("visto", "AGE")]))
    # Existing spans can be changed, moved, deleted and restored.
    do(world, alter("relabel", spans[0], label=world.labels["PATIENT"]))
    start, end = at(world.note.text, "Torino dal")
    do(world, alter("resize", spans[2], start=start, end=end, quote="Torino dal"))
    do(world, step("undo"))
    do(world, alter("delete", spans[1]))
    do(world, step("undo"))
    do(world, step("redo"))
    made(world, "anni", "AGE")
    assert Span.objects.count() == 4


@pytest.mark.usefixtures("few")
def test_only_so_many_spans_lie_over_one_character(world: SimpleNamespace) -> None:
    made(world, "Mario Rossi", "PATIENT")
    made(world, "Mario", "CITY")
    assert "at most 2 spans" in str(no_room(world, create(world.note, world.labels, "Mario", "DOCTOR")))
    beside = made(world, "Rossi", "DOCTOR")
    start, end = at(world.note.text, "Mario Rossi,")
    no_room(world, alter("resize", beside, start=start, end=end, quote="Mario Rossi,"))
    no_room(world, many(world, [("o R", "AGE")]))
    made(world, "54", "AGE")  # touching and standing elsewhere is no crowd
    assert Span.objects.count() == 4


def test_a_set_that_was_too_large_before_can_be_mended(world: SimpleNamespace, few: None) -> None:
    age = made(world, "54", "AGE")
    held = AnnotationSet.objects.get()
    Span.objects.bulk_create(
        Span(annotation_set=held, start=start, end=12, label_id=world.labels["CITY"]) for start in range(8)
    )
    first = Span.objects.filter(start=7).get()
    do(world, alter("delete", {"id": first.pk, "start": 7, "end": 12, "label": world.labels["CITY"]}))
    start, end = at(world.note.text, "54 anni")
    do(world, alter("resize", age, start=start, end=end, quote="54 anni"))
    no_room(world, create(world.note, world.labels, "Torino", "CITY"))
