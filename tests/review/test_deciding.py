"""Decisions and finishing a review through JSON: answers and errors."""

import json
from types import SimpleNamespace

import pytest

from annotations.models import AnnotationSet, Decision, Event, Review, Span
from annotations.review.events import REVIEW_DECIDED, REVIEW_FINISHED, REVIEW_REOPENED, REVIEW_UNDONE
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.pages import TEXT
from tests.worlds.reviewing import (
    body,
    decide,
    send,
    suggested,
    url,
)

__all__ = ["decide", "suggested"]


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
    assert [
        p["state"] for p in decide("reject", seen=["accepted", 0, 11, suggested.labels["PATIENT"]]).json["suggestions"]
    ] == [
        "rejected",
        "accepted",
    ]
    assert decide("undo").json["suggestions"][0]["state"] == "accepted"
    assert decide("redo").json["suggestions"][0]["state"] == "rejected"


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


MALFORMED = [
    ({"act": "dance"}, "act"),
    ({"act": None}, "act"),
    ({"act": ["accept"]}, "act"),
    ({"change_id": "1"}, "change_id"),
    ({"change_id": None}, "change_id"),
    ({"suggestion": None}, "suggestion"),
    ({"suggestion": "1"}, "suggestion"),
    ({"suggestion": True}, "suggestion"),
    ({"suggestion": -1}, "suggestion"),
    ({"suggestion": 1.5}, "suggestion"),
    ({"seen": None}, "seen"),
    ({"seen": "open"}, "seen"),
    ({"seen": ["finished"]}, "seen"),
    ({"seen": ["accepted"]}, "seen"),
    ({"seen": ["accepted", "a", 2, 3]}, "start"),
    ({"act": "add"}, "quote"),
    ({"act": "add", "quote": "x", "start": 2**31, "end": 1, "label": 1}, "start"),
    ({"act": "add", "quote": "x", "start": 0, "end": {}, "label": 1}, "end"),
    ({"act": "correct", "quote": "x", "start": 0, "end": 1}, "label"),
    ({"act": "remove", "start": 0, "end": 1, "label": []}, "label"),
]


def test_malformed_bodies(suggested, sign_in):
    client = sign_in(suggested.rev)
    for data, field in MALFORMED:
        answer = send(client, url(suggested, "review_decide"), body(suggested) | data)
        assert (answer.status, answer.json["error"]) == (400, "malformed"), data
        assert f"“{field}”" in answer.json["message"]
        assert answer.json["open"] == 2, "the answer includes the current state"
    assert not Event.objects.filter(verb=REVIEW_DECIDED).exists()


def errors_of(world: SimpleNamespace) -> list[tuple[dict[str, object], str]]:
    at = {"start": 0, "end": 5, "label": world.labels["PATIENT"], "quote": "Mario"}
    elsewhere = make.make_set(
        make.make_note(world.project, "x"), world.run, [(0, 1, "DATE")], submitted=True
    ).spans.get()
    foreign = make.label_of(world.other, "CITY").pk
    return [
        ({"suggestion": elsewhere.pk}, "suggestion"),
        ({"suggestion": 10**9}, "suggestion"),
        ({"act": "add", **at, "quote": "Luigi"}, "quote"),
        ({"act": "add", **at, "end": 10_000}, "outside"),
        ({"act": "add", **at, "start": 5, "end": 6, "quote": " "}, "white"),
        ({"act": "add", **at, "label": foreign}, "label"),
        ({"act": "correct", **at, "label": 10**9}, "label"),
        ({"act": "remove", **at}, "moved"),
        ({"act": "undo"}, "nothing"),
        ({"act": "redo"}, "nothing"),
    ]


def test_every_error_gives_a_reason_and_the_current_state(suggested, sign_in):
    client = sign_in(suggested.rev)
    for changes, code in errors_of(suggested):
        answer = send(client, url(suggested, "review_decide"), body(suggested) | changes)
        assert (answer.status, answer.json["error"]) == (409, code), changes
        assert answer.json["message"][0].isupper()
        assert answer.json["message"].endswith(".")
        assert "Mario" not in answer.json["message"]
        assert answer.json["open"] == 2
    assert not Event.objects.filter(verb__in=[REVIEW_DECIDED, REVIEW_UNDONE]).exists()
    assert not Span.objects.filter(annotation_set__author__kind="gold").exists()


def test_another_person_is_signed_in_now(suggested, sign_in):
    for name in ("review_decide", "review_finish"):
        for person in (suggested.mia.pk, None, "x"):
            answer = send(sign_in(suggested.rev), url(suggested, name), body(suggested) | {"person": person})
            assert (answer.status, answer.json["error"]) == (409, "person")
    assert not Decision.objects.exists()


def test_a_person_s_later_decision_wins(suggested, decide):
    """Also if the page still showed the suggestion as open, as in another tab or with a delayed change."""
    decide("accept")
    assert decide("reject").json["suggestions"][0]["state"] == "rejected"


def test_gold_that_was_replaced_leaves_the_suggestion_open_again(suggested, decide):
    decide("accept")
    Span.objects.filter(annotation_set__author__kind="gold").delete()
    answer = decide("reject", suggestion=suggested.place.pk)
    assert [p["state"] for p in answer.json["suggestions"]] == ["open", "rejected"]
    assert decide("accept").json["suggestions"][0]["state"] == "accepted"
    assert Span.objects.filter(annotation_set__author__kind="gold").count() == 1


def test_finishing_and_reopening(suggested, sign_in, decide):
    client = sign_in(suggested.rev)
    finish, person = url(suggested, "review_finish"), {"person": suggested.rev.pk}
    refused = send(client, finish, person)
    assert (refused.status, refused.json["error"]) == (409, "open")
    assert "2 suggestions are still open" in refused.json["message"]
    decide("accept")
    assert "1 suggestion is still open" in send(client, finish, person).json["message"]
    decide("reject", suggestion=suggested.place.pk)
    answer = send(client, finish, person)
    assert answer.json == {"next": f"{url(suggested, 'review_next')}?after={suggested.note.pk}"}
    assert send(client, finish, person).status == 200
    assert AnnotationSet.objects.get(author__kind="gold").state == "submitted"
    late = decide("accept", suggestion=suggested.place.pk)
    assert (late.status, late.json["error"], late.json["finished"]) == (409, "finished", True)
    assert "Reviewed" in check_page(client.get(url(suggested, "review")))
    assert client.post(url(suggested, "review_reopen")).url == url(suggested, "review")
    assert decide("accept", suggestion=suggested.place.pk, seen=["rejected"]).status == 200
    verbs = Event.objects.filter(verb__startswith="review.").values_list("verb", flat=True)
    assert [str(verb) for verb in verbs if verb not in (REVIEW_DECIDED,)] == [
        str(REVIEW_FINISHED),
        str(REVIEW_REOPENED),
    ]


def test_finishing_without_the_script(suggested, sign_in, decide):
    client = sign_in(suggested.rev)
    page = client.post(url(suggested, "review_finish"), follow=True)
    assert "2 suggestions are still open" in check_page(page)
    decide("accept")
    decide("reject", suggestion=suggested.place.pk)
    assert client.post(url(suggested, "review_finish")).url.startswith(url(suggested, "review_next"))
    assert Review.objects.get().finished_by == suggested.rev


def test_the_state_holds_a_token_and_no_text(suggested, sign_in):
    answer = sign_in(suggested.rev).get(url(suggested, "review_state")).json()
    known = {
        "csrf",
        "person",
        "version",
        "finished",
        "stage",
        "between",
        "open",
        "suggestions",
        "removals",
        "gold",
        "has_finished_gold",
        "gold_is_draft",
    }
    assert known == set(answer)
    assert "Mario" not in json.dumps(answer)


def test_no_event_holds_text(suggested, decide):
    decide("accept")
    decide("add", start=13, end=20, label=suggested.labels["AGE"], quote="54 anni")
    decide("undo")
    for event in Event.objects.all():
        assert "54 anni" not in json.dumps(event.data)
        assert "Rossi" not in json.dumps(event.data)
