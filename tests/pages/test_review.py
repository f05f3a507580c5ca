"""The review pages and their JSON: who may, what is refused and how, what the page holds."""

import json
import uuid
from types import SimpleNamespace

import pytest
from django.test import Client
from django.urls import reverse

from annotations.models import AnnotationSet, Author, Decision, Event, Review, Span, Verb
from tests import factories as make
from tests.pages.checks import check_page
from tests.pages.conftest import TEXT

NAMES = ("review_next", "review", "review_decide", "review_state", "review_close", "review_reopen")
LOOKS = ("review_next", "review", "review_state")
JSON = ("review_decide", "review_state", "review_close", "review_reopen")


@pytest.fixture
def proposed(world: SimpleNamespace) -> SimpleNamespace:
    """A run that read the first note and proposed two spans; its second note it has not read."""
    run = make.make_author(world.project, kind="run", name="rules-1")
    reading = make.make_set(world.note, run, [(0, 11, "PATIENT"), (44, 50, "HOSPITAL")], submitted=True)
    Span.objects.filter(annotation_set=reading).update(confidence=0.8, source="rule.of.mine")
    world.run = run
    world.name, world.place = reading.spans.order_by("start")
    world.labels = {label.name: label.pk for label in world.project.label_set.labels.all()}
    return world


def url(world: SimpleNamespace, name: str, *, slug: str = "covid", author: int | None = None, note: int = 0) -> str:
    args = [slug, world.run.pk if author is None else author]
    return reverse(name, args=args if name == "review_next" else [*args, note or world.note.pk])


def body(world: SimpleNamespace, act: str = "accept", *, user: object = None, **changes: object) -> dict[str, object]:
    known: dict[str, object] = {
        "act": act,
        "change_id": str(uuid.uuid4()),
        "person": (user or world.rev).pk,
        "proposal": world.name.pk,
        "seen": ["open"],
    }
    return known | changes


def send(client: Client, address: str, data: object) -> SimpleNamespace:
    answer = client.post(
        address, data if isinstance(data, bytes) else json.dumps(data), content_type="application/json"
    )
    return SimpleNamespace(status=answer.status_code, json=answer.json())


@pytest.fixture
def decide(proposed: SimpleNamespace, sign_in: type):
    client = sign_in(proposed.rev)
    return lambda act="accept", **changes: send(client, url(proposed, "review_decide"), body(proposed, act, **changes))


# ── Who may ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def ask(client: Client, name: str, world: SimpleNamespace, user: object, **where: object) -> object:
    address = url(world, name, **where)
    if name in LOOKS:
        return client.get(address)
    return client.post(address, json.dumps(body(world, user=user)), content_type="application/json")


@pytest.mark.parametrize("name", NAMES)
def test_who_may(proposed, sign_in, name):
    for person, status in (("vic", 403), ("ann", 403), ("out", 404)):
        user = getattr(proposed, person)
        answer = ask(sign_in(user), name, proposed, user)
        assert answer.status_code == status, person
        if name in JSON:
            assert set(answer.json()) == {"error", "message"}
    assert not Decision.objects.exists()
    for person in ("rev", "mia"):
        user = getattr(proposed, person)
        if name in ("review_close", "review_reopen"):
            Review.objects.all().delete()
            Decision.objects.all().delete()
        answer = ask(sign_in(user), name, proposed, user)
        expected = {"review_next": 302, "review_close": 409, "review_reopen": 302}.get(name, 200)
        assert answer.status_code == expected, person


@pytest.mark.parametrize("name", NAMES)
def test_nobody_signed_in(proposed, name):
    answer = ask(Client(), name, proposed, proposed.rev)
    assert answer.status_code == (401 if name in ("review_decide", "review_close", "review_reopen") else 302)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_there(proposed, sign_in, name):
    """Runs of other projects, authors that are no runs; notes that the run has not read, or only begun."""
    client = sign_in(proposed.rev)
    theirs = make.make_author(proposed.other, kind="run", name="rules-9")
    far = make.make_note(proposed.other, TEXT)
    make.make_set(far, theirs, [(0, 5, "PATIENT")], submitted=True)
    annotator = make.make_author(proposed.project, proposed.ann)
    for author in (theirs.pk, annotator.pk, 10**6, 2**63):
        assert ask(client, name, proposed, proposed.rev, author=author).status_code == 404
    if name == "review_next":
        return
    make.make_set(proposed.notes[1], proposed.run, [(0, 11, "PATIENT")])
    for note in (proposed.notes[1].pk, far.pk, 10**6, 2**63):
        assert ask(client, name, proposed, proposed.rev, note=note).status_code == 404
    assert not Review.objects.exists()
    assert not Event.objects.filter(verb=Verb.NOTE_READ).exists()


@pytest.mark.parametrize("name", NAMES)
def test_the_wrong_method(proposed, sign_in, name):
    client = sign_in(proposed.rev)
    wrong = client.post if name in LOOKS else client.get
    assert wrong(url(proposed, name)).status_code == 405


def test_a_form_token_is_asked_for(proposed, sign_in):
    client = sign_in(proposed.rev, enforce_csrf_checks=True)
    answer = client.post(url(proposed, "review_decide"), json.dumps(body(proposed)), content_type="application/json")
    assert answer.status_code == 403
    assert not Decision.objects.exists()
    token = client.get(url(proposed, "review_state")).json()["csrf"]
    answer = client.post(
        url(proposed, "review_decide"), json.dumps(body(proposed)), content_type="application/json",
        headers={"X-CSRFToken": token},
    )  # fmt: skip
    assert answer.status_code == 200


# ── The page ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_page_holds_the_note_and_what_was_proposed(proposed, sign_in):
    answer = sign_in(proposed.rev).get(url(proposed, "review"))
    html = check_page(answer)
    assert "Mario Rossi" in html
    assert "0 of 1 reviewed" in html
    data = answer.context["data"]
    assert data["text"] == TEXT
    assert [(p["start"], p["end"], p["state"], p["source"]) for p in data["proposals"]] == [
        (0, 11, "open", "rule.of.mine"),
        (44, 50, "open", "rule.of.mine"),
    ]
    assert data["person"] == proposed.rev.pk
    assert (data["closed"], data["open"], data["gold"]) == (False, 2, [])
    event = Event.objects.get(verb=Verb.NOTE_READ)
    assert (event.actor, event.document_id) == (proposed.rev, proposed.note.pk)


def test_the_page_escapes_what_is_hostile(world, sign_in):
    text = "Sig. <script>alert(1)</script> </script><!-- ' \" & \u2028 \U0001f9ec Rossi"
    note = make.make_note(world.project, text, "<b>name</b>")
    world.run = make.make_author(world.project, kind="run", name="<i>run</i>")
    world.note = note
    make.make_set(note, world.run, [(5, 13, "PATIENT")], submitted=True)
    answer = sign_in(world.rev).get(url(world, "review"))
    html = check_page(answer)
    assert "<script>alert" not in html
    assert "<b>name</b>" not in html
    assert "<i>run</i>" not in html
    assert answer.context["data"]["text"] == text


def test_keys_of_labels_that_the_page_needs_itself_are_not_offered(proposed, sign_in):
    proposed.project.label_set.labels.filter(name="CITY").update(hotkey="a")
    proposed.project.label_set.labels.filter(name="DATE").update(hotkey="E")
    keys = {
        label["name"]: label["key"] for label in sign_in(proposed.rev).get(url(proposed, "review")).context["labels"]
    }
    assert (keys["CITY"], keys["DATE"], keys["PATIENT"]) == ("", "", "1")


def test_next_goes_round_and_ends_on_a_page_that_says_so(proposed, sign_in):
    client = sign_in(proposed.rev)
    second = proposed.notes[1]
    make.make_set(second, proposed.run, [], submitted=True)
    first_url, second_url = url(proposed, "review"), url(proposed, "review", note=second.pk)
    where = url(proposed, "review_next")
    assert client.get(where).url == first_url
    assert client.get(f"{where}?after={proposed.note.pk}").url == second_url
    assert client.get(f"{where}?after={second.pk}").url == first_url
    for nonsense in ("x", "-1", "9" * 30, ""):
        assert client.get(f"{where}?after={nonsense}").url == first_url
    html = client.get(second_url).content.decode()
    assert f'href="{first_url}"' in html
    now = proposed.name.annotation_set.submitted_at
    for note in (proposed.note, second):
        Review.objects.create(
            document=note, author=proposed.run, closed_at="2026-01-01T00:00:00Z", closed_by=proposed.rev
        )
    assert now is None
    assert "All 2 notes were read to the end" in check_page(client.get(where))
    assert "Reviewed" in check_page(client.get(first_url))


def test_a_run_that_has_read_nothing_yet(world, sign_in):
    world.run = make.make_author(world.project, kind="run", name="rules-2")
    assert "Nothing to review in rules-2 yet" in check_page(sign_in(world.rev).get(url(world, "review_next")))


# ── Deciding ─────────────────────────────────────────────────────────────────────────────────────────────────────────


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
    (b"", "body"),
    (b"{", "body"),
    (b"\xff", "body"),
    (b"[]", "body"),
    (b"[" * 100_000, "body"),
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
    ({"proposal": 2**63}, "proposal"),
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


# ── Closing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


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
    known = {"csrf", "person", "version", "closed", "stage", "between", "open", "proposals", "gold"}
    assert known == set(answer)
    assert "Mario" not in json.dumps(answer)


def test_no_event_holds_text(proposed, decide):
    decide("accept")
    decide("add", start=13, end=20, label=proposed.labels["AGE"], quote="54 anni")
    decide("undo")
    for event in Event.objects.all():
        assert "54 anni" not in json.dumps(event.data)
        assert "Rossi" not in json.dumps(event.data)


# ── Cost ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_queries_don_t_grow(proposed, sign_in, decide, django_assert_max_num_queries):
    client = sign_in(proposed.rev)
    decide("accept")
    gold = Author.objects.get(kind="gold")
    reading = proposed.name.annotation_set
    with django_assert_max_num_queries(29):  # one of them: whether a second reviewer must follow
        decide("reject", seen=["accepted", 0, 11, proposed.labels["PATIENT"]])
    for start in range(20, 40):
        make.make_span(reading, start, start + 1, "DATE")
        make.make_span(gold.annotation_sets.get(), start, start + 1, "CITY")
    with django_assert_max_num_queries(29):
        decide("accept", seen=["rejected"])
    with django_assert_max_num_queries(26):
        client.get(url(proposed, "review"))
