"""Attributes in adjudication: shown, voted on, kept by acts, undone, and passed on to gold."""

import pytest

from annotations.adjudicate.services.log import effect_of
from annotations.gold.services.making import make_gold
from annotations.models import AnnotationSet, Event, Span
from tests.worlds.adjudicated import CITY, DATE, NAME, act, location_at, own, unanimous, world

__all__ = ["world"]  # the fixture

pytestmark = pytest.mark.django_db


def give(world, name, bounds, **attributes):
    annotation_set = world.annotation_sets[name]
    Span.objects.filter(annotation_set=annotation_set, start=bounds[0], end=bounds[1]).update(attributes=attributes)


def decided(kind="adjudicated"):
    rows = Span.objects.filter(annotation_set__author__kind=kind).order_by("start")
    return list(rows.values_list("label__name", "attributes"))


def test_the_page_gets_attributes(world):
    give(world, "anna", CITY, Status="past")
    assert "attributes" not in location_at(world, NAME)
    key = f"{CITY[0]}-{CITY[1]}-{world.label['CITY']}"
    assert location_at(world, CITY)["attributes"] == {"versions": [{key: {"Status": "past"}}, {}, {}], "outcome": {}}
    act(world, "annotator", CITY, annotator=1)
    assert location_at(world, CITY)["attributes"]["outcome"] == {key: {"Status": "past"}}


def test_more_than_half_of_those_who_marked_a_span_decide(world):
    for name in ("anna", "bruno"):
        give(world, name, DATE, Status="past", Family=True)
    give(world, "carla", DATE, Status="current")
    give(world, "anna", NAME, Family=True)
    unanimous(world)
    act(world, "majority", NAME)
    # Anna and Bruno marked the whole name; only one of the two gave it an attribute.
    assert decided() == [("PATIENT", None), ("DATE", {"Family": True, "Status": "past"})]


def test_an_annotators_version_keeps_its_attributes_and_undo_restores(world):
    give(world, "anna", NAME, Family=True)
    act(world, "annotator", NAME, annotator=1)
    assert decided() == [("PATIENT", {"Family": True})]
    act(world, "annotator", NAME, annotator=2)
    assert decided() == [("PATIENT", None)]
    act(world, "undo")
    assert decided() == [("PATIENT", {"Family": True})]


def test_an_own_span_leaves_the_attributes_of_others(world):
    give(world, "anna", CITY, Status="past")
    act(world, "annotator", CITY, annotator=1)
    own(world, (42, 43), "AGE")
    assert decided() == [("AGE", None), ("CITY", {"Status": "past"})]
    # A span as an annotator marked it has the annotator's attributes.
    own(world, CITY, "CITY")
    assert decided()[-1] == ("CITY", {"Status": "past"})


def test_events_from_before_spans_had_attributes(world):
    unanimous(world)
    event = Event.objects.get()
    event.data["after"][0]["spans"] = [span[:4] for span in event.data["after"][0]["spans"]]
    assert [span[4] for row in effect_of(event).after for span in row["spans"]] == [None]


def test_gold_of_an_adjudicated_set_has_its_attributes(world):
    give(world, "anna", NAME, Family=True)
    act(world, "annotator", NAME, annotator=1)
    row = AnnotationSet.objects.get(author__kind="adjudicated")
    row.state = AnnotationSet.State.SUBMITTED
    row.save()
    make_gold(document=world.note, annotation_set=row, actor=world.rita)
    assert decided("gold") == [("PATIENT", {"Family": True})]
