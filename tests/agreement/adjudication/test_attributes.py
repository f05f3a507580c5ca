"""Attributes in adjudication: shown, voted on, kept by acts, undone, and passed on to gold."""

import pytest

from annotations.agreement.selectors.disagreements import Filters, differences, page
from annotations.agreement.services.comparing import bring_up_to_date
from annotations.core.services import ServiceError
from annotations.gold.services.making import make_gold
from annotations.models import AnnotationSet, AnnotationSetState, Comparison, Event, Label, Span, Stale
from tests.worlds.adjudicated import CITY, DATE, NAME, act, location_at, own, refused


def give(world, name, bounds, **attributes):
    annotation_set = world.annotation_sets[name]
    Span.objects.filter(annotation_set=annotation_set, start=bounds[0], end=bounds[1]).update(attributes=attributes)


def decided(kind="adjudicated"):
    rows = Span.objects.filter(annotation_set__author__kind=kind).order_by("start")
    return list(rows.values_list("label__name", "attributes"))


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
    """So does gold."""
    give(world, "anna", NAME, Family=True)
    act(world, "annotator", NAME, annotator=1)
    assert decided() == [("PATIENT", {"Family": True})]
    act(world, "annotator", NAME, annotator=2)
    assert decided() == [("PATIENT", None)]
    act(world, "undo")
    assert decided() == [("PATIENT", {"Family": True})]
    AnnotationSet.objects.filter(author__kind="adjudicated").update(state=AnnotationSetState.SUBMITTED)
    row = AnnotationSet.objects.get(author__kind="adjudicated")
    make_gold(document=world.note, annotation_set=row, actor=world.rita)
    assert decided("gold") == [("PATIENT", {"Family": True})]


def test_an_own_span_leaves_the_attributes_of_others(world):
    give(world, "anna", CITY, Status="past", Family=True)
    act(world, "annotator", CITY, annotator=1)
    own(world, (42, 43), "AGE")
    assert decided() == [("AGE", None), ("CITY", {"Status": "past", "Family": True})]
    # A span as an annotator marked it has the annotator's attributes; with another label, those that the label has.
    own(world, CITY, "CITY")
    assert decided()[-1] == ("CITY", {"Status": "past", "Family": True})
    Label.objects.filter(name="DATE").update(attributes=[{"name": "Status", "values": ["past"]}])
    own(world, CITY, "DATE")
    assert decided()[-1] == ("DATE", {"Status": "past"})


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
    assert found.locations[0].attributes == {"anna": ["DATE · Status: past"], "bruno": ["DATE"], "carla": ["DATE"]}
    assert found.locations[0].row.labels == f",{world.label['DATE']},"
    # Figures link to the disagreements that they count.
    assert [row.start for row in differences(world.project, Filters(unit="entity"))] == [0, 13, 44]


def given_to(world, name, value, label="DATE"):
    return {"span": (*DATE, world.label[label]), "attribute": (name, value)}


def test_an_adjudicator_sets_attributes(world):
    def put(name, value):
        act(world, "attribute", DATE, **given_to(world, name, value))

    Label.objects.filter(name="DATE").update(attributes=[{"name": "Status", "values": ["past"]}, {"name": "Family"}])
    with pytest.raises(ServiceError, match="not decided yet"):
        put("Family", True)
    act(world, "annotator", DATE, annotator=1)
    put("Family", True)
    put("Status", "past")
    assert decided() == [("DATE", {"Family": True, "Status": "past"})]
    assert location_at(world, DATE)["choice"] == "own"
    assert Span.objects.get(annotation_set__author__kind="adjudicated").provenance["changed"] == ["attributes"]
    events = Event.objects.count()
    put("Status", "past")
    assert Event.objects.count() == events  # changes nothing
    act(world, "undo")
    assert decided() == [("DATE", {"Family": True})]
    act(world, "redo")
    put("Family", None)
    assert decided() == [("DATE", {"Status": "past"})]
    assert refused(world, "attribute", DATE, **given_to(world, "Status", "future")) == "attribute"
    assert refused(world, "attribute", DATE, **given_to(world, "Family", True, label="AGE")) == "moved"
