"""The limits on the spans of one annotation set apply to every way of writing it, and nothing is lost."""

import json
import uuid
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotations.annotate.services.spans import Answer, apply_change
from annotations.core.changes import Refused, read_change
from annotations.domain import crowding
from annotations.models import AnnotationSet, Event, Span
from tests.annotate.conftest import alter, at, create, step

pytestmark = pytest.mark.django_db


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A set of four spans, two over one character, is full."""
    for module in ("annotations.domain.crowding", "annotations.core.room"):
        monkeypatch.setattr(f"{module}.MOST_SPANS", 4)
        monkeypatch.setattr(f"{module}.DEEPEST", 2)


def do(world: SimpleNamespace, data: dict[str, Any]) -> Answer:
    return apply_change(document=world.note, user=world.ann, change=read_change(data))


def refused(world: SimpleNamespace, data: dict[str, Any]) -> Refused:
    before = list(Span.objects.order_by("pk").values_list("pk", "start", "end", "label_id")), Event.objects.count()
    with pytest.raises(Refused) as caught:
        do(world, data)
    assert before == (
        list(Span.objects.order_by("pk").values_list("pk", "start", "end", "label_id")),
        Event.objects.count(),
    )
    assert (caught.value.code, caught.value.status) == ("room", 422)
    return caught.value


def made(world: SimpleNamespace, part: str, label: str) -> dict[str, Any]:
    span = do(world, create(world.note, world.labels, part, label)).span
    assert span
    return dict(span)


def many(world: SimpleNamespace, *parts: tuple[str, str]) -> dict[str, Any]:
    names = ("start", "end", "label", "quote")
    wanted = [(*at(world.note.text, part), world.labels[name], part) for part, name in parts]
    spans = [dict(zip(names, each, strict=True)) for each in wanted]
    return {"change_id": str(uuid.uuid4()), "kind": "create_many", "spans": spans}


@pytest.mark.usefixtures("few")
def test_a_full_set_takes_no_further_span_and_can_be_emptied(world: SimpleNamespace) -> None:
    spans = [made(world, part, "CITY") for part in ("Mario", "54", "Torino", "Bianchi")]
    words = refused(world, create(world.note, world.labels, "anni", "AGE"))
    assert str(words) == (
        "Not saved: an annotation set holds at most 4 spans on one note. Delete some, then try again."
    )
    refused(world, many(world, ("anni", "AGE"), ("visto", "AGE")))
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
    words = refused(world, create(world.note, world.labels, "Mario", "DOCTOR"))
    assert "at most 2 spans may cover one character" in str(words)
    beside = made(world, "Rossi", "DOCTOR")
    start, end = at(world.note.text, "Mario Rossi,")
    refused(world, alter("resize", beside, start=start, end=end, quote="Mario Rossi,"))
    refused(world, many(world, ("o R", "AGE")))
    made(world, "54", "AGE")  # touching and standing elsewhere is no crowd
    assert Span.objects.count() == 4


def test_a_set_that_was_too_large_before_can_be_mended(world: SimpleNamespace, few: None) -> None:
    made(world, "54", "AGE")
    held = AnnotationSet.objects.get()
    Span.objects.bulk_create(
        Span(annotation_set=held, start=start, end=12, label_id=world.labels["CITY"]) for start in range(8)
    )
    first = Span.objects.filter(start=7).get()
    do(world, alter("delete", {"id": first.pk, "start": 7, "end": 12, "label": world.labels["CITY"]}))
    start, end = at(world.note.text, "54 anni")
    age = Span.objects.get(label=world.labels["AGE"])
    do(
        world,
        alter(
            "resize",
            {"id": age.pk, "start": age.start, "end": age.end, "label": age.label_id},
            start=start,
            end=end,
            quote="54 anni",
        ),
    )
    refused(world, create(world.note, world.labels, "Torino", "CITY"))


@pytest.mark.usefixtures("few")
def test_the_page_gets_the_error_as_a_sentence(world: SimpleNamespace, client: Client) -> None:
    client.force_login(world.ann)
    url = reverse("changes", args=["covid", world.note.pk])
    made(world, "Mario Rossi", "PATIENT")
    made(world, "Mario", "CITY")
    data = create(world.note, world.labels, "Mario", "DOCTOR", person=world.ann.pk)
    answer = client.post(url, json.dumps(data), content_type="application/json")
    assert answer.status_code == 422
    assert answer.json()["error"] == "room"
    assert answer.json()["message"].endswith("Delete a span here, then try again.")


def test_what_a_note_usually_holds_is_far_from_the_limits() -> None:
    usual = [(at, at + 12) for at in range(0, 100_000, 50)] + [(at, at + 30) for at in range(0, 100_000, 500)]
    assert crowding.crowd_in(usual) is None
    full = [(at, at + 1) for at in range(crowding.MOST_SPANS)]
    assert crowding.crowd_in(full) is None
    assert crowding.crowd_in([*full, (0, 2)]) == crowding.Crowd(crowding.MOST_SPANS + 1)
    deep = [(0, end) for end in range(2, 2 + crowding.DEEPEST)]
    assert crowding.crowd_in(deep) is None
    assert crowding.crowd_in([*deep, (1, 2)]) == crowding.Crowd(crowding.DEEPEST + 1, 1)
    assert crowding.crowd_in([*deep, (100, 101)]) is None
    assert not crowding.has_room(deep, (0, 1))
    assert crowding.has_room(deep, (100, 101))
