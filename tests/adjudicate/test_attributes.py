"""Attributes in adjudication: shown, voted on, kept by acts, undone, and passed on to gold."""

import uuid

import pytest
from django.urls import reverse

from annotations.adjudicate.services.log import effect_of
from annotations.agreement.selectors.disagreements import Filters, differences, page
from annotations.agreement.services.comparing import bring_up_to_date
from annotations.core.errors import ServiceError
from annotations.gold.services.making import make_gold
from annotations.models import AnnotationSet, Comparison, Event, Label, Span, Stale
from tests.worlds.adjudicated import CITY, DATE, NAME, act, location_at, made_adjudication, own, unanimous, world

__all__ = ["made_adjudication", "world"]  # the fixture

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
    given = {"versions": [{key: {"Status": "past"}}, {}, {}], "majority": {}, "outcome": {}}
    assert location_at(world, CITY)["attributes"] == given
    act(world, "annotator", CITY, annotator=1)
    assert location_at(world, CITY)["attributes"]["outcome"] == {key: {"Status": "past"}}


def test_more_than_half_of_those_who_marked_a_span_decide(world):
    for name in ("anna", "bruno"):
        give(world, name, DATE, Status="past", Family=True)
    give(world, "carla", DATE, Status="current")
    give(world, "anna", NAME, Family=True)
    act(world, "majority", DATE)
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


def test_the_same_spans_with_other_attributes_are_a_disagreement(world):
    assert location_at(world, DATE)["state"] == "agreed"
    give(world, "anna", DATE, Status="past")
    location = location_at(world, DATE)
    assert (location["state"], location["consensus"], location["same_spans"]) == ("open", "majority", True)
    give(world, "bruno", DATE, Status="current")
    location = location_at(world, DATE)
    assert (location["consensus"], location["majority"]) == ("split", None)
    with pytest.raises(ServiceError, match="No version has a majority"):
        act(world, "majority", DATE)
    act(world, "annotator", DATE, annotator=2)
    assert decided() == [("DATE", {"Status": "current"})]
    # The decision is to be checked again once an annotator's attributes change.
    assert location_at(world, DATE)["state"] == "decided"
    give(world, "carla", DATE, Status="past")
    assert location_at(world, DATE)["state"] == "changed"


def test_disagreements_list_other_attributes_and_figures_ignore_them(world):
    bring_up_to_date(world.project)
    before = Comparison.objects.get()
    give(world, "anna", DATE, Status="past")
    Stale.objects.create(document_id=world.note.pk)
    bring_up_to_date(world.project)
    after = Comparison.objects.get()
    assert (after.disputed, after.agreed) == (before.disputed + 1, before.agreed - 1)
    assert (after.agreement, after.tied) == (before.agreement, before.tied)
    assert after.heard != before.heard
    found = page(world.project, Filters(kind="attributes"))
    assert [shown.kinds for shown in found.locations] == [["attributes"]]
    assert found.locations[0].attributes == [
        ("anna", ["DATE · Status: past"]), ("bruno", ["DATE"]), ("carla", ["DATE"])
    ]  # fmt: skip
    assert found.locations[0].row.labels == f",{world.label['DATE']},"
    # Figures link to the disagreements that they count.
    assert [row.start for row in differences(world.project, Filters(unit="entity"))] == [0, 13, 44]


def set_attribute(world, bounds, name, value, label="DATE", **more):
    span = (*bounds, world.label[label])
    return act(world, "attribute", bounds, span=span, attribute=(name, value), **more)


def test_an_adjudicator_sets_attributes(world):
    Label.objects.filter(name="DATE").update(attributes=[{"name": "Status", "values": ["past"]}, {"name": "Family"}])
    with pytest.raises(ServiceError, match="not decided yet"):
        set_attribute(world, DATE, "Family", True)
    act(world, "annotator", DATE, annotator=1)
    set_attribute(world, DATE, "Family", True)
    set_attribute(world, DATE, "Status", "past")
    assert decided() == [("DATE", {"Family": True, "Status": "past"})]
    assert location_at(world, DATE)["choice"] == "own"
    assert Span.objects.get(annotation_set__author__kind="adjudicated").provenance["changed"] == ["attributes"]
    events = Event.objects.count()
    set_attribute(world, DATE, "Status", "past")
    assert Event.objects.count() == events  # changes nothing
    act(world, "undo")
    assert decided() == [("DATE", {"Family": True})]
    act(world, "redo")
    set_attribute(world, DATE, "Family", None)
    assert decided() == [("DATE", {"Status": "past"})]
    with pytest.raises(ServiceError) as caught:
        set_attribute(world, DATE, "Status", "future")
    assert caught.value.code == "attribute"
    with pytest.raises(ServiceError) as caught:
        set_attribute(world, DATE, "Family", True, label="AGE")
    assert caught.value.code == "moved"


def test_the_page_sends_attributes(world, sign_in):
    Label.objects.filter(name="DATE").update(attributes=[{"name": "Family"}])
    act(world, "annotator", DATE, annotator=1)
    location = location_at(world, DATE)
    asked = {
        "act": "attribute", "change_id": str(uuid.uuid4()), "person": world.rita.pk, "start": DATE[0], "end": DATE[1],
        "label": world.label["DATE"], "name": "Family", "value": True,
        "seen": [[location["start"], location["end"], location["key"]]],
    }  # fmt: skip
    url = reverse("adjudicate_decide", args=[world.project.slug, world.note.pk])
    client = sign_in(world.rita)
    assert client.post(url, asked | {"value": 3}, content_type="application/json").status_code == 400
    answer = client.post(url, asked, content_type="application/json").json()
    key = f"{DATE[0]}-{DATE[1]}-{world.label['DATE']}"
    shown = next(each for each in answer["locations"] if each["start"] == DATE[0])
    assert shown["attributes"]["outcome"] == {key: {"Family": True}}


def test_a_relabeled_decision_keeps_what_its_label_has(world):
    Label.objects.filter(name="AGE").update(attributes=[{"name": "Status", "values": ["past"]}])
    give(world, "anna", DATE, Status="past", Family=True)
    act(world, "annotator", DATE, annotator=1)
    own(world, DATE, "AGE")
    assert decided() == [("AGE", {"Status": "past"})]


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
