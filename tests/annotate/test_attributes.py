"""Attributes of one's own spans: set, removed, undone, kept through changes, and refused."""

from types import SimpleNamespace
from typing import Any

import pytest

from annotations.annotate.services.spans import ChangedSpans
from annotations.core.changes import ChangeRefused
from annotations.core.spans import spans_of
from annotations.models import AnnotationSet, Event, Label, Span
from tests.annotate.conftest import alter, at, do, made, merge, step
from tests.worlds.checks import refused

STATUS = {"name": "Status", "values": ["current", "past"]}


@pytest.fixture
def city(world: SimpleNamespace) -> dict[str, Any]:
    """A span on “Torino” with a label that has a boolean attribute and a choice. HOSPITAL has the choice only."""
    Label.objects.filter(name="CITY").update(attributes=[{"name": "Family"}, STATUS])
    Label.objects.filter(name="HOSPITAL").update(attributes=[STATUS])
    return made(world, "Torino", "CITY")


def put(world: SimpleNamespace, span: dict[str, Any], name: str, value: object) -> ChangedSpans:
    return do(world, alter("attribute", span, name=name, value=value))


def now() -> list[tuple[str, object]]:
    return list(Span.objects.order_by("start").values_list("label__name", "attributes"))


def test_attributes_are_set_one_by_one(world: SimpleNamespace, city: dict[str, Any]) -> None:
    assert put(world, city, "Status", "past").span == city | {"attributes": {"Status": "past"}}
    assert put(world, city, "Family", True).span == city | {"attributes": {"Family": True, "Status": "past"}}
    assert now() == [("CITY", {"Family": True, "Status": "past"})]
    assert put(world, city, "Status", "current").span == city | {"attributes": {"Family": True, "Status": "current"}}
    version = AnnotationSet.objects.get().version
    assert put(world, city, "Status", "current").version == version  # changes nothing
    assert put(world, city, "Family", None).span == city | {"attributes": {"Status": "current"}}
    assert put(world, city, "Status", None).span == city | {"attributes": {}}
    assert now() == [("CITY", None)]
    assert spans_of(AnnotationSet.objects.get().pk) == [city]


def test_undo_and_redo(world: SimpleNamespace, city: dict[str, Any]) -> None:
    put(world, city, "Status", "past")
    put(world, city, "Status", "current")
    assert do(world, step("undo")).span == city | {"attributes": {"Status": "past"}}
    assert do(world, step("undo")).span == city | {"attributes": {}}
    assert now() == [("CITY", None)]
    do(world, step("redo"))
    assert do(world, step("redo")).span == city | {"attributes": {"Status": "current"}}
    assert now() == [("CITY", {"Status": "current"})]


def test_a_resized_or_restored_span_keeps_its_attributes(world: SimpleNamespace, city: dict[str, Any]) -> None:
    put(world, city, "Status", "past")
    start, end = at(world.note.text, "a Torino")
    resized = do(world, alter("resize", city, start=start, end=end, quote="a Torino")).span
    assert resized == city | {"start": start}  # without attributes: the answer names only changed ones
    assert now() == [("CITY", {"Status": "past"})]
    do(world, alter("delete", dict(resized)))
    assert do(world, step("undo")).span == city | {"start": start, "attributes": {"Status": "past"}}
    assert now() == [("CITY", {"Status": "past"})]
    do(world, step("redo"))
    assert now() == []


def test_a_relabeled_span_keeps_what_its_new_label_has(world: SimpleNamespace, city: dict[str, Any]) -> None:
    put(world, city, "Status", "past")
    put(world, city, "Family", True)
    answer = do(world, alter("relabel", city, label=world.labels["HOSPITAL"]))
    assert answer.span == city | {"label": world.labels["HOSPITAL"], "attributes": {"Status": "past"}}
    assert now() == [("HOSPITAL", {"Status": "past"})]
    do(world, step("undo"))
    assert now() == [("CITY", {"Family": True, "Status": "past"})]


def test_what_the_label_lacks_is_refused(world: SimpleNamespace, city: dict[str, Any]) -> None:
    wrong: list[tuple[str, object]] = [("Status", "future"), ("Status", True), ("Family", "x"), ("Other", True)]
    for name, value in wrong:
        with pytest.raises(ChangeRefused) as caught:
            put(world, city, name, value)
        assert (caught.value.code, caught.value.status, caught.value.spans) == ("attribute", 409, [city])
    malformed: list[dict[str, Any]] = [{}, {"name": 1, "value": True}, {"name": "Family", "value": False}]
    for more in malformed:
        with refused("malformed"):
            do(world, alter("attribute", city, **more))
    assert Event.objects.count() == 1
    do(world, alter("delete", city))
    with refused("changed"):
        put(world, city, "Family", True)


def test_a_merge_of_labels_keeps_attributes(world: SimpleNamespace, city: dict[str, Any]) -> None:
    put(world, city, "Family", True)
    merge(world, "CITY", "HOSPITAL")
    assert now() == [("HOSPITAL", {"Family": True})]
    assert Label.objects.get(name="HOSPITAL").attributes == [STATUS, {"name": "Family"}]
