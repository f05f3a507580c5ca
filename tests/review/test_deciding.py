"""Decisions and finishing a review through JSON: answers and errors."""

import json
from types import SimpleNamespace

import pytest

from annotations.models import AnnotationSet, Decision, Event, Label, Span
from annotations.review.events import REVIEW_DECIDED, REVIEW_FINISHED, REVIEW_REOPENED, REVIEW_UNDONE
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.pages import TEXT
from tests.worlds.reviewing import body, send, url


def test_a_decision_returns_the_new_state_of_the_review(suggested, decide):
    state = decide("accept").json
    assert [p["state"] for p in state["suggestions"]] == ["accepted", "open"]
    assert state["suggestions"][0]["by"] == "rev"
    assert state["suggestions"][0]["bounds"] == [0, 11, suggested.labels["PATIENT"]]
    assert state["open"] == 1
    assert [(g["start"], g["end"], g["from"], g["by"]) for g in state["gold"]] == [(0, 11, "run:rules-1", "rev")]
    city = {"start": 44, "end": 50, "label": suggested.labels["CITY"], "quote": TEXT[44:50]}
    state = decide("correct", suggestion=suggested.place.pk, **city).json
    assert state["suggestions"][1]["bounds"] == [44, 50, suggested.labels["CITY"]]
    state = decide("add", start=13, end=20, label=suggested.labels["AGE"], quote="54 anni").json
    assert state["gold"][1]["from"] == "reviewer:rev"
    state = decide("remove", start=13, end=20, label=suggested.labels["AGE"]).json
    assert len(state["gold"]) == 2
    rejected = decide("reject", seen=["accepted", 0, 11, suggested.labels["PATIENT"]]).json
    assert [p["state"] for p in rejected["suggestions"]] == ["rejected", "accepted"]
    assert decide("undo").json["suggestions"][0]["state"] == "accepted"
    assert decide("redo").json["suggestions"][0]["state"] == "rejected"
    assert decide("accept", seen=["open"]).json["suggestions"][0]["state"] == "accepted", "one's own later act wins"
    said = json.dumps([event.data for event in Event.objects.all()])
    assert "54 anni" not in said and "Rossi" not in said


@pytest.mark.parametrize(
    "text", ["\ufeffCaf\u00e9 \U0001f9ec\r\nRossi \u0645\u062d\u0645\u062f", "e\u0301 \U0001f468\u200d\U0001f469 x"]
)
def test_offsets_are_code_points(suggested, sign_in, text):
    offset = 44
    note = make.make_note(suggested.project, " " * offset + text)
    make.make_set(note, suggested.run, [], submitted=True)
    start, end = offset, offset + len(text)
    data = body(suggested, "add", start=start, end=end, label=suggested.labels["CITY"], quote=note.text[start:end])
    state = send(sign_in(suggested.rev), url(suggested, "review_decide", note=note.pk), data).json
    trimmed = note.text[state["gold"][0]["start"] : state["gold"][0]["end"]]
    assert trimmed == text.strip("\ufeff")


MALFORMED = {
    "act": [{"act": "dance"}, {"act": None}, {"act": ["accept"]}],
    "change_id": [{"change_id": "1"}, {"change_id": None}],
    "suggestion": [{"suggestion": value} for value in (None, "1", True, -1, 1.5)],
    "seen": [{"seen": value} for value in (None, "open", ["finished"], ["accepted"])],
    "start": [{"seen": ["accepted", "a", 2, 3]}, {"act": "add", "quote": "x", "start": 2**31, "end": 1, "label": 1}],
    "quote": [{"act": "add"}],
    "end": [{"act": "add", "quote": "x", "start": 0, "end": {}, "label": 1}],
    "label": [
        {"act": "correct", "quote": "x", "start": 0, "end": 1},
        {"act": "remove", "start": 0, "end": 1, "label": []},
    ],
}


def test_malformed_bodies(suggested, rev):
    """The answer includes the current state."""
    for field, data in [(field, data) for field, several in MALFORMED.items() for data in several]:
        answer = send(rev, url(suggested, "review_decide"), body(suggested) | data)
        assert (answer.status, answer.json["error"], answer.json["open"]) == (400, "malformed", 2), data
        assert f"“{field}”" in answer.json["message"]
    for field, value in (("with_gold", "yes"), ("with_gold", None), ("with_doubtful", "yes")):
        asked = {"person": suggested.rev.pk, "stage": "first", field: value}
        answer = send(rev, url(suggested, "review_finish"), asked)
        assert (answer.status, answer.json["error"], answer.json["open"]) == (400, "malformed", 2)
    assert not Event.objects.filter(verb=REVIEW_DECIDED).exists()


def errors_of(world: SimpleNamespace) -> list[tuple[dict[str, object], str]]:
    at = {"start": 0, "end": 5, "label": world.labels["PATIENT"], "quote": "Mario"}
    elsewhere = make.make_set(
        make.make_note(world.project, "x"), world.run, [(0, 1, "DATE")], submitted=True
    ).spans.get()
    own = make.make_set(world.note, world.ann, [(0, 5, "PATIENT")], submitted=True).spans.get()
    foreign = make.label_of(world.other, "CITY").pk
    return [
        ({"suggestion": elsewhere.pk}, "suggestion"), ({"suggestion": own.pk}, "suggestion"),
        ({"suggestion": 10**9}, "suggestion"), ({"act": "add", **at, "quote": "Luigi"}, "quote"),
        ({"act": "add", **at, "end": 10_000}, "outside"),
        ({"act": "add", **at, "start": 5, "end": 6, "quote": " "}, "white"),
        ({"act": "add", **at, "label": foreign}, "label"), ({"act": "correct", **at, "label": 10**9}, "label"),
        ({"act": "remove", **at}, "moved"), ({"act": "undo"}, "nothing"), ({"act": "redo"}, "nothing"),
    ]  # fmt: skip


def test_every_error_gives_a_reason_and_the_current_state(suggested, rev):
    for changes, code in errors_of(suggested):
        answer = send(rev, url(suggested, "review_decide"), body(suggested) | changes)
        assert (answer.status, answer.json["error"], answer.json["open"]) == (409, code, 2), changes
        assert "Mario" not in answer.json["message"]
    assert not Event.objects.filter(verb__in=[REVIEW_DECIDED, REVIEW_UNDONE]).exists()
    assert not Span.objects.filter(annotation_set__author__kind="gold").exists()


def test_gold_that_was_replaced_leaves_the_suggestion_open_again(suggested, decide):
    decide("accept")
    Span.objects.filter(annotation_set__author__kind="gold").delete()
    answer = decide("reject", suggestion=suggested.place.pk)
    assert [p["state"] for p in answer.json["suggestions"]] == ["open", "rejected"]
    assert decide("accept").json["suggestions"][0]["state"] == "accepted"
    assert Span.objects.filter(annotation_set__author__kind="gold").count() == 1


def test_finishing_and_reopening(suggested, rev, decide):
    finish, person = url(suggested, "review_finish"), {"person": suggested.rev.pk}
    refused = send(rev, finish, person)
    assert (refused.status, refused.json["error"], refused.json["open"]) == (409, "open", 2)
    decide("accept")
    page = rev.post(finish, follow=True)  # as a form, without the script
    assert "1 suggestion is still open" in check_page(page)
    decide("reject", suggestion=suggested.place.pk)
    assert send(rev, finish, person).json == {"next": f"{url(suggested, 'review_next')}?after={suggested.note.pk}"}
    assert rev.post(finish).url.startswith(url(suggested, "review_next"))
    assert AnnotationSet.objects.get(author__kind="gold").state == "submitted"
    late = decide("accept", suggestion=suggested.place.pk)
    assert (late.status, late.json["error"], late.json["finished"]) == (409, "finished", True)
    assert rev.post(url(suggested, "review_reopen")).url == url(suggested, "review")
    assert decide("accept", suggestion=suggested.place.pk, seen=["rejected"]).status == 200
    verbs = Event.objects.filter(verb__startswith="review.").exclude(verb=REVIEW_DECIDED).values_list("verb", flat=True)
    assert [str(verb) for verb in verbs] == [str(REVIEW_FINISHED), str(REVIEW_REOPENED)]


def test_the_state_holds_a_token_and_no_text(suggested, sign_in):
    """The token of forms, which every act needs."""
    client = sign_in(suggested.rev, enforce_csrf_checks=True)
    answer = client.get(url(suggested, "review_state")).json()
    assert set(answer) == {
        "csrf", "person", "version", "finished", "stage", "between", "open", "suggestions", "removals", "gold",
        "has_finished_gold", "gold_is_draft",
    }  # fmt: skip
    assert "Mario" not in json.dumps(answer)
    for headers, status in (({}, 403), ({"X-CSRFToken": answer["csrf"]}, 200)):
        asked = {"data": json.dumps(body(suggested)), "content_type": "application/json", "headers": headers}
        assert client.post(url(suggested, "review_decide"), **asked).status_code == status
        assert Decision.objects.exists() == (status == 200)


# Attributes in review: shown, and kept in gold by accepting, correcting and undoing


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
    decide("correct", **shorter, seen=["accepted", 0, 11, given.labels["PATIENT"]])
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
