"""Attributes in review: shown, and kept in gold by accepting, correcting and undoing."""

import pytest

from annotations.models import Event, Label, Span
from annotations.review.services.log import whole_row
from tests.worlds.pages import TEXT


@pytest.fixture
def given(suggested):
    """The suggestion on the name has two attributes, of which DOCTOR has one."""
    Label.objects.filter(name="DOCTOR").update(attributes=[{"name": "Family"}])
    Label.objects.filter(name="PATIENT").update(attributes=[{"name": "Family"}, {"name": "Status", "values": ["past"]}])
    Span.objects.filter(pk=suggested.name.pk).update(attributes={"Family": True, "Status": "past"})
    return suggested


def gold():
    rows = Span.objects.filter(annotation_set__author__kind="gold").order_by("start", "label")
    return list(rows.values_list("label__name", "attributes"))


def test_an_accepted_suggestion_keeps_its_attributes(given, decide):
    """An added span has none."""
    both = {"Family": True, "Status": "past"}
    state = decide("accept").json
    assert state["suggestions"][0]["attributes"] == state["gold"][0]["attributes"] == both
    assert "attributes" not in state["suggestions"][1]
    for act, found in (("undo", []), ("redo", [("PATIENT", both)])):
        decide(act)
        assert gold() == found
    state = decide("add", start=13, end=20, label=given.labels["AGE"], quote="54 anni").json
    assert "attributes" not in state["gold"][1]
    assert gold() == [("PATIENT", both), ("AGE", None)]


def test_a_corrected_suggestion_keeps_what_its_label_has(given, decide):
    shorter = {"start": 6, "end": 11, "label": given.labels["PATIENT"], "quote": TEXT[6:11]}
    decide("correct", **shorter)
    assert gold() == [("PATIENT", {"Family": True, "Status": "past"})]
    seen = ["accepted", 6, 11, given.labels["PATIENT"]]
    decide("correct", **(shorter | {"label": given.labels["DOCTOR"]}), seen=seen)
    assert gold() == [("DOCTOR", {"Family": True})]


def put(decide, world, name, value, **more):
    return decide("attribute", start=0, end=11, label=world.labels["PATIENT"], name=name, value=value, **more)


def test_a_reviewer_sets_attributes_of_gold(given, decide):
    assert put(decide, given, "Family", True).json["error"] == "moved"  # not in gold yet
    decide("accept")
    state = put(decide, given, "Family", None).json
    assert state["gold"][0]["attributes"] == {"Status": "past"}
    assert state["suggestions"][0]["state"] == "accepted"
    assert gold() == [("PATIENT", {"Status": "past"})]
    assert Span.objects.get(annotation_set__author__kind="gold").provenance["suggestion"] == given.name.pk
    events = Event.objects.count()
    put(decide, given, "Family", None)
    assert Event.objects.count() == events  # changes nothing
    decide("undo")
    assert gold() == [("PATIENT", {"Family": True, "Status": "past"})]
    decide("redo")
    assert gold() == [("PATIENT", {"Status": "past"})]
    assert put(decide, given, "Status", "future").json["error"] == "attribute"
    assert put(decide, given, "Status", 3).status == 400
    # A correction keeps what the reviewer set; a rejection and its undo, too.
    shorter = {"start": 6, "end": 11, "label": given.labels["PATIENT"], "quote": TEXT[6:11]}
    seen = ["accepted", 0, 11, given.labels["PATIENT"]]
    decide("correct", **shorter, seen=seen)
    assert gold() == [("PATIENT", {"Status": "past"})]
    decide("reject", seen=["accepted", 6, 11, given.labels["PATIENT"]])
    assert gold() == []
    decide("undo")
    assert gold() == [("PATIENT", {"Status": "past"})]


def test_an_attribute_that_another_reviewer_changed_is_not_undone(given, decide, sign_in):
    decide("accept")
    put(decide, given, "Family", None)
    Span.objects.filter(annotation_set__author__kind="gold").update(attributes=None)
    assert decide("undo").json["error"] == "moved"
    assert gold() == [("PATIENT", None)]


def test_rows_of_the_log_from_before_spans_had_attributes():
    assert whole_row([0, 5, 1, None, "", None]) == (0, 5, 1, None, "", None, None)
    assert whole_row([0, 5, 1, None, "", None, {"A": True}])[-1] == {"A": True}
