"""Attributes in review: shown, and kept in gold by accepting, correcting and undoing."""

import pytest

from annotations.models import Label, Span
from annotations.review.services.log import whole_row
from tests.worlds.pages import TEXT
from tests.worlds.reviewing import decide, suggested

__all__ = ["decide", "suggested"]


@pytest.fixture
def given(suggested):
    """The suggestion on the name has two attributes, of which DOCTOR has one."""
    Label.objects.filter(name="DOCTOR").update(attributes=[{"name": "Family"}])
    Span.objects.filter(pk=suggested.name.pk).update(attributes={"Family": True, "Status": "past"})
    return suggested


def gold():
    rows = Span.objects.filter(annotation_set__author__kind="gold").order_by("start", "label")
    return list(rows.values_list("label__name", "attributes"))


def test_an_accepted_suggestion_keeps_its_attributes(given, decide):
    state = decide("accept").json
    assert state["suggestions"][0]["attributes"] == {"Family": True, "Status": "past"}
    assert "attributes" not in state["suggestions"][1]
    assert state["gold"][0]["attributes"] == {"Family": True, "Status": "past"}
    assert gold() == [("PATIENT", {"Family": True, "Status": "past"})]
    decide("undo")
    assert gold() == []
    decide("redo")
    assert gold() == [("PATIENT", {"Family": True, "Status": "past"})]


def test_a_corrected_suggestion_keeps_what_its_label_has(given, decide):
    shorter = {"start": 6, "end": 11, "label": given.labels["PATIENT"], "quote": TEXT[6:11]}
    decide("correct", **shorter)
    assert gold() == [("PATIENT", {"Family": True, "Status": "past"})]
    seen = ["accepted", 6, 11, given.labels["PATIENT"]]
    decide("correct", **(shorter | {"label": given.labels["DOCTOR"]}), seen=seen)
    assert gold() == [("DOCTOR", {"Family": True})]


def test_an_added_span_has_none(given, decide):
    state = decide("add", start=13, end=20, label=given.labels["AGE"], quote="54 anni").json
    assert "attributes" not in state["gold"][0]
    assert gold() == [("AGE", None)]


def test_rows_of_the_log_from_before_spans_had_attributes():
    assert whole_row([0, 5, 1, None, "", None]) == (0, 5, 1, None, "", None, None)
    assert whole_row([0, 5, 1, None, "", None, {"A": True}])[-1] == {"A": True}
