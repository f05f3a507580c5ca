"""Decisions and the end of a note as JSON: what is answered, what is refused and how."""

import json
import uuid
from types import SimpleNamespace

import pytest

from annotations.models import AnnotationSet, Decision, Event, Review, Span, Verb
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.pages import TEXT
from tests.worlds.reviewing import (
    body,
    decide,
    proposed,
    send,
    url,
)

__all__ = ["decide", "proposed"]


def test_a_decision_answers_with_the_review_as_it_stands(proposed, decide):
    state = decide("accept").json
    assert [p["state"] for p in state["proposals"]] == ["accepted", "open"]
    assert state["proposals"][0]["by"] == "rev"
    assert state["proposals"][0]["place"] == [0, 11, proposed.labels["PATIENT"]]
    assert state["open"] == 1
    assert [(g["start"], g["end"], g["from"], g["by"]) for g in state["gold"]] == [(0, 11, "run:rules-1", "rev")]
    place = {"start": 44, "end": 50, "label": proposed.labels["CITY"], "quote": TEXT[44:50]}
    state = decide("correct", proposal=proposed.place.pk, **place).json
    assert state["proposals"][1]["place"] == [44, 50, proposed.labels["CITY"]]
    state = decide("add", start=13, end=20, label=proposed.labels["AGE"], quote="54 anni").json
    assert state["gold"][1]["from"] == "reviewer:rev"
    state = decide("remove", start=13, end=20, label=proposed.labels["AGE"]).json
    assert len(state["gold"]) == 2
    assert [
        p["state"] for p in decide("reject", seen=["accepted", 0, 11, proposed.labels["PATIENT"]]).json["proposals"]
    ] == [
        "rejected",
        "accepted",
    ]
    assert decide("undo").json["proposals"][0]["state"] == "accepted"
    assert decide("redo").json["proposals"][0]["state"] == "rejected"


def test_what_changes_nothing_is_no_decision(proposed, decide):
    decide("accept")
    version = decide("accept", seen=["accepted", 0, 11, proposed.labels["PATIENT"]]).json["version"]
    assert version == 1
    assert Event.objects.filter(verb=Verb.REVIEW_DECIDED).count() == 1


def test_a_replay_is_harmless(proposed, decide):
    change = str(uuid.uuid4())
    first, second = (decide("accept", change_id=change) for _ in range(2))
    assert first.status == second.status == 200
    assert first.json == second.json
    assert Event.objects.filter(verb=Verb.REVIEW_DECIDED).count() == 1


@pytest.mark.parametrize("offset", [0, 44, 45])
@pytest.mark.parametrize(
    "text", ["\ufeffCaf\u00e9 \U0001f9ec\r\nRossi \u0645\u062d\u0645\u062f", "e\u0301 \U0001f468\u200d\U0001f469 x"]
)
def test_offsets_are_code_points(proposed, sign_in, offset, text):
    note = make.make_note(proposed.project, " " * offset + text)
    make.make_set(note, proposed.run, [], submitted=True)
    start, end = offset, offset + len(text)
    data = body(proposed, "add", start=start, end=end, label=proposed.labels["CITY"], quote=note.text[start:end])
    state = send(sign_in(proposed.rev), url(proposed, "review_decide", note=note.pk), data).json
    trimmed = note.text[state["gold"][0]["start"] : state["gold"][0]["end"]]
    assert trimmed == text.strip("\ufeff")


MALFORMED = [
    ({"act": "dance"}, "act"),
    ({"act": None}, "act"),
    ({"act": ["accept"]}, "act"),
    ({"change_id": "1"}, "change_id"),
    ({"change_id": None}, "change_id"),
    ({"proposal": None}, "proposal"),
    ({"proposal": "1"}, "proposal"),
    ({"proposal": True}, "proposal"),
    ({"proposal": -1}, "proposal"),
    ({"proposal": 1.5}, "proposal"),
    ({"seen": None}, "seen"),
    ({"seen": "open"}, "seen"),
    ({"seen": ["shut"]}, "seen"),
    ({"seen": ["accepted"]}, "seen"),
    ({"seen": ["accepted", "a", 2, 3]}, "start"),
    ({"act": "add"}, "quote"),
    ({"act": "add", "quote": "x", "start": 2**31, "end": 1, "label": 1}, "start"),
    ({"act": "add", "quote": "x", "start": 0, "end": {}, "label": 1}, "end"),
    ({"act": "correct", "quote": "x", "start": 0, "end": 1}, "label"),
    ({"act": "remove", "start": 0, "end": 1, "label": []}, "label"),
]


@pytest.mark.parametrize("data", [b" ", b"{", b"\xff", b"[]", b"[" * 100_000, b'{"a": NaN}', b'{"a": 1, "a": 1}'])
def test_bodies_that_are_no_json_object(proposed, sign_in, data):
    answer = send(sign_in(proposed.rev), url(proposed, "review_decide"), data)
    assert (answer.status, answer.json["error"]) == (400, "malformed")
    assert not Event.objects.filter(verb=Verb.REVIEW_DECIDED).exists()


@pytest.mark.parametrize(("data", "field"), MALFORMED, ids=[f"{n} {f}" for n, (_, f) in enumerate(MALFORMED)])
def test_malformed_bodies(proposed, sign_in, data, field):
    sent = data if isinstance(data, bytes) else body(proposed) | data
    answer = send(sign_in(proposed.rev), url(proposed, "review_decide"), sent)
    assert answer.status == 400
    assert answer.json["error"] == "malformed"
    assert f"'{field}'" in answer.json["message"]
    assert answer.json["open"] == 2, "the review as it is comes with it"
    assert not Event.objects.filter(verb=Verb.REVIEW_DECIDED).exists()


def refusals(world: SimpleNamespace) -> list[tuple[dict[str, object], str]]:
    at = {"start": 0, "end": 5, "label": world.labels["PATIENT"], "quote": "Mario"}
    elsewhere = make.make_set(
        make.make_note(world.project, "x"), world.run, [(0, 1, "DATE")], submitted=True
    ).spans.get()
    foreign = make.label_of(world.other, "CITY").pk
    return [
        ({"proposal": elsewhere.pk}, "proposal"),
        ({"proposal": 10**9}, "proposal"),
        ({"act": "add", **at, "quote": "Luigi"}, "quote"),
        ({"act": "add", **at, "end": 10_000}, "outside"),
        ({"act": "add", **at, "start": 5, "end": 6, "quote": " "}, "white"),
        ({"act": "add", **at, "label": foreign}, "label"),
        ({"act": "correct", **at, "label": 10**9}, "label"),
        ({"act": "remove", **at}, "moved"),
        ({"act": "undo"}, "nothing"),
        ({"act": "redo"}, "nothing"),
    ]


def test_every_refusal_says_why_and_shows_what_is(proposed, sign_in):
    client = sign_in(proposed.rev)
    for changes, code in refusals(proposed):
        answer = send(client, url(proposed, "review_decide"), body(proposed) | changes)
        assert (answer.status, answer.json["error"]) == (409, code), changes
        assert answer.json["message"][0].isupper()
        assert answer.json["message"].endswith(".")
        assert "Mario" not in answer.json["message"]
        assert answer.json["open"] == 2
    assert not Event.objects.filter(verb__in=[Verb.REVIEW_DECIDED, Verb.REVIEW_UNDONE]).exists()
    assert not Span.objects.filter(annotation_set__author__kind="gold").exists()


def test_somebody_else_is_signed_in_now(proposed, sign_in):
    for name in ("review_decide", "review_close"):
        for person in (proposed.mia.pk, None, "x"):
            answer = send(sign_in(proposed.rev), url(proposed, name), body(proposed) | {"person": person})
            assert (answer.status, answer.json["error"]) == (409, "person")
    assert not Decision.objects.exists()


def test_a_decision_of_another_is_not_overwritten_unseen(proposed, sign_in, decide):
    decide("reject")
    theirs = sign_in(proposed.mia)
    answer = send(theirs, url(proposed, "review_decide"), body(proposed, user=proposed.mia))
    assert (answer.status, answer.json["error"]) == (409, "moved")
    assert "rev rejected this proposal meanwhile" in answer.json["message"].lower()
    assert answer.json["proposals"][0]["state"] == "rejected"
    assert Decision.objects.get().reviewer == proposed.rev
    # Having seen it, one may decide otherwise.
    answer = send(theirs, url(proposed, "review_decide"), body(proposed, user=proposed.mia, seen=["rejected"]))
    assert answer.status == 200
    assert Decision.objects.get().reviewer == proposed.mia


def test_two_who_decide_alike_agree(proposed, sign_in, decide):
    decide("accept")
    answer = send(sign_in(proposed.mia), url(proposed, "review_decide"), body(proposed, user=proposed.mia))
    assert answer.status == 200
    assert answer.json["version"] == 1
    assert Decision.objects.get().reviewer == proposed.rev


def test_one_s_own_later_decision_wins(proposed, decide):
    """From another tab of the same person, or from a change that waited: the page saw the note as open."""
    decide("accept")
    assert decide("reject").json["proposals"][0]["state"] == "rejected"


def test_gold_that_was_replaced_leaves_the_proposal_open_again(proposed, decide):
    decide("accept")
    Span.objects.filter(annotation_set__author__kind="gold").delete()
    answer = decide("reject", proposal=proposed.place.pk)
    assert [p["state"] for p in answer.json["proposals"]] == ["open", "rejected"]
    assert decide("accept").json["proposals"][0]["state"] == "accepted"
    assert Span.objects.filter(annotation_set__author__kind="gold").count() == 1


def test_closing_and_reopening(proposed, sign_in, decide):
    client = sign_in(proposed.rev)
    close, person = url(proposed, "review_close"), {"person": proposed.rev.pk}
    refused = send(client, close, person)
    assert (refused.status, refused.json["error"]) == (409, "open")
    assert "2 proposals are still open" in refused.json["message"]
    decide("accept")
    assert "1 proposal is still open" in send(client, close, person).json["message"]
    decide("reject", proposal=proposed.place.pk)
    answer = send(client, close, person)
    assert answer.json == {"next": f"{url(proposed, 'review_next')}?after={proposed.note.pk}"}
    assert send(client, close, person).status == 200
    assert AnnotationSet.objects.get(author__kind="gold").state == "submitted"
    late = decide("accept", proposal=proposed.place.pk)
    assert (late.status, late.json["error"], late.json["closed"]) == (409, "closed", True)
    assert "Reviewed" in check_page(client.get(url(proposed, "review")))
    assert client.post(url(proposed, "review_reopen")).url == url(proposed, "review")
    assert decide("accept", proposal=proposed.place.pk, seen=["rejected"]).status == 200
    verbs = Event.objects.filter(verb__startswith="review.").values_list("verb", flat=True)
    assert [str(verb) for verb in verbs if verb not in (Verb.REVIEW_DECIDED,)] == [
        str(Verb.REVIEW_CLOSED),
        str(Verb.REVIEW_REOPENED),
    ]


def test_closing_without_the_script(proposed, sign_in, decide):
    client = sign_in(proposed.rev)
    page = client.post(url(proposed, "review_close"), follow=True)
    assert "2 proposals are still open" in check_page(page)
    decide("accept")
    decide("reject", proposal=proposed.place.pk)
    assert client.post(url(proposed, "review_close")).url.startswith(url(proposed, "review_next"))
    assert Review.objects.get().closed_by == proposed.rev


def test_the_state_brings_a_token_and_no_text(proposed, sign_in):
    answer = sign_in(proposed.rev).get(url(proposed, "review_state")).json()
    known = {"csrf", "person", "version", "closed", "stage", "between", "open", "proposals", "gold", "settled"}
    assert known == set(answer)
    assert "Mario" not in json.dumps(answer)


def test_no_event_holds_text(proposed, decide):
    decide("accept")
    decide("add", start=13, end=20, label=proposed.labels["AGE"], quote="54 anni")
    decide("undo")
    for event in Event.objects.all():
        assert "54 anni" not in json.dumps(event.data)
        assert "Rossi" not in json.dumps(event.data)
