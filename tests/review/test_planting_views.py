"""Planted leaks on the pages: the option, what a page's source tells (nothing), the close, and the result."""

import io
import json
import uuid
from types import SimpleNamespace

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotations.models import BulkAct, PlantedLeak, Project, Review, Span
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.pages import TEXT
from tests.worlds.reviewing import send

PROPOSED = [(0, 11, "PATIENT"), (44, 50, "CITY"), (61, 68, "DOCTOR")]


@pytest.fixture
def planting(world: SimpleNamespace, sign_in: type, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Two runs that agree on two notes. The option is off; where it is on, the first note has a leak."""
    world.run, other = (make.make_author(world.project, kind="run", name=name) for name in ("rules-1", "crf-1"))
    for note in world.notes:
        for run in (world.run, other):
            make.make_set(note, run, PROPOSED, submitted=True)
    world.labels = {label.name: label.pk for label in world.project.label_set.labels.all()}
    world.client = sign_in(world.rev)
    first = world.notes[0].pk
    monkeypatch.setattr(
        "annotations.domain.planting.chance",
        lambda key, what, run, note, *place: 0.0 if what != "note" or note == first else 0.99,
    )
    return world


def url(name, *args):
    return reverse(name, args=["covid", *args])


def switch_on(world, sign_in, share="20"):
    client = sign_in(world.mia)
    form = client.get(url("project_settings")).context["form"]
    data = {name: value for name, value in form.initial.items() if value not in (None, False)}
    return client.post(url("project_settings"), data | {"planted_share": share})


def page(world, note=None, client=None):
    return (client or world.client).get(url("review", world.run.pk, (note or world.note).pk))


def data_of(answer):
    return json.loads(answer.content.decode().split('id="review-data" type="application/json">')[1].split("<")[0])


def post(world, name, note=None, person=None, client=None, **data):
    known = {"person": (person or world.rev).pk, "change_id": str(uuid.uuid4()), "stage": "first"}
    return send(client or world.client, url(name, world.run.pk, (note or world.note).pk), known | data)


def close(world, note=None, **data):
    rest = [one["id"] for one in data_of(page(world, note))["proposals"] if one["state"] == "open"]
    return post(world, "review_close", note, rest=rest, **data)


def test_the_option_and_that_reviewers_are_told(planting, sign_in):
    html = check_page(sign_in(planting.mia).get(url("project_settings")))
    assert "Measure what reading misses" in html and "Everybody who reviews is told" in html
    assert "is left out of the proposals" not in check_page(page(planting, planting.notes[1]))
    assert switch_on(planting, sign_in).status_code == 302
    assert Project.objects.get(slug="covid").planted_share == 20
    for note in planting.notes:
        assert "In about 1 note of 5 a known identifier is left out" in check_page(page(planting, note))
    assert switch_on(planting, sign_in, share="50").status_code == 422


def test_a_page_tells_nothing_of_what_is_hidden_in_its_note(planting, sign_in):
    switch_on(planting, sign_in)
    planted, plain = (page(planting, note) for note in planting.notes)
    assert PlantedLeak.objects.get().review.document == planting.note
    shown, all_of = data_of(planted), data_of(plain)
    assert [one["start"] for one in shown["proposals"]] == [44, 61]
    assert [one["start"] for one in all_of["proposals"]] == [0, 44, 61]
    assert shown.keys() == all_of.keys()
    assert {*shown["proposals"][0]} == {*all_of["proposals"][0]}
    assert "planted" not in planted.content.decode().replace("rv-planting", "")
    assert {hint["start"] for hint in shown["hints"]} == {44, 61}, "nor does another run's hint"
    ids = set(Span.objects.values_list("pk", flat=True))
    assert not ids & {one["id"] for data in (shown, all_of) for one in data["proposals"]}, "a gap in ids would tell"
    state = planting.client.get(url("review_state", planting.run.pk, planting.note.pk)).json()
    assert [one["id"] for one in state["proposals"]] == [one["id"] for one in shown["proposals"]]
    assert data_of(page(planting))["proposals"] == shown["proposals"], "a reload shows the same"
    reading = Span.objects.get(planted__isnull=False).annotation_set_id
    assert planting.client.get(url("note", planting.note.pk), {"set": reading}).status_code == 404
    note = sign_in(planting.vic).get(url("note", planting.note.pk), {"set": reading})
    assert len(note.context["spans"]) == 2 and [n for _, n in note.context["counts"]] == [1, 1]
    for label in ("PATIENT", "CITY"):
        string = make.ProposedString.objects.get(author=planting.run, label_id=planting.labels[label])
        html = check_page(planting.client.get(url("review_string", string.pk), {"run": planting.run.pk}))
        assert html.count('name="tick"') == (1 if label == "PATIENT" else 2)


def test_decisions_by_the_pages_own_numbers_and_by_ids(planting, sign_in):
    switch_on(planting, sign_in)
    city, doctor = data_of(page(planting))["proposals"]
    answer = post(planting, "review_decide", act="accept", proposal=city["id"], seen=["open"])
    assert answer.status == 200 and answer.json["proposals"][0]["id"] == city["id"]
    hidden = PlantedLeak.objects.get().proposal_id
    refused = post(planting, "review_decide", act="accept", proposal=hidden, seen=["open"])
    nowhere = post(planting, "review_decide", act="accept", proposal=10**9, seen=["open"])
    assert (refused.status, refused.json["error"]) == (nowhere.status, nowhere.json["error"]) == (409, "proposal")
    assert [one["id"] for one in refused.json["proposals"]] == [city["id"], doctor["id"]]
    own = Span.objects.get(annotation_set__author=planting.run, annotation_set__document=planting.note, start=61)
    tried = post(planting, "review_decide", act="reject", proposal=own.pk, seen=["open"])
    assert (tried.status, tried.json["error"]) == (409, "proposal"), "trying ids would find the gap between them"


def test_a_page_from_before_the_option_was_on_decides_by_ids(planting, sign_in):
    page(planting)
    switch_on(planting, sign_in)
    own = Span.objects.get(annotation_set__author=planting.run, annotation_set__document=planting.note, start=61)
    assert post(planting, "review_decide", act="reject", proposal=own.pk, seen=["open"]).status == 200


def test_exceptions_by_string_are_not_named_by_ids(planting, sign_in):
    switch_on(planting, sign_in)
    page(planting)
    own = Span.objects.get(annotation_set__author=planting.run, annotation_set__document=planting.note, start=61)
    string = make.ProposedString.objects.get(author=planting.run, label_id=planting.labels["DOCTOR"])
    here = url("review_string", string.pk) + f"?run={planting.run.pk}"
    tried = planting.client.post(here, {"act": "reject", "shown": [own.pk]}, follow=True)
    assert "Reload the page" in tried.content.decode()
    assert not BulkAct.objects.exists(), "whether the plan is one fewer would tell which ids are shown"


def test_state_asked_for_before_the_page_is_opened_shows_nothing_of_what_will_be_hidden(planting, sign_in):
    switch_on(planting, sign_in)
    state = planting.client.get(url("review_state", planting.run.pk, planting.note.pk)).json()
    assert [one["start"] for one in state["proposals"]] == [44, 61]
    assert PlantedLeak.objects.count() == 1


def test_missed_shown_decided_closed_and_measured(planting, sign_in):
    switch_on(planting, sign_in)
    answer = close(planting)
    assert (answer.status, answer.json["next"], answer.json["open"]) == (200, None, 1)
    (missed,) = [one for one in answer.json["proposals"] if one["state"] == "open"]
    assert (missed["start"], missed["planted"]) == (0, "missed")
    # The second click of a double click, the key for the rest pressed again, and the form of a page without scripts.
    for rest in ([], [missed["id"]]):
        again = post(planting, "review_close", rest=rest)
        assert (again.status, again.json["error"]) == (409, "open")
    form = planting.client.post(url("review_close", planting.run.pk, planting.note.pk), {"stage": "first"}, follow=True)
    assert "1 proposal is still open" in check_page(form)
    assert Review.objects.get(document=planting.note).closed_at is None
    post(planting, "review_decide", act="accept", proposal=missed["id"], seen=["open"])
    assert post(planting, "review_close", rest=[]).json["next"]
    html = check_page(sign_in(planting.mia).get(url("acceptance")))
    assert "What reading misses" in html and "too few to tell" in html
    assert "can be estimated once 20" in html
    for person, sees in ((planting.rev, True), (planting.vic, False)):
        others = check_page(sign_in(person).get(url("acceptance")))
        table = others.split('id="planted-title"')[1]
        assert ('<th scope="row">rev</th>' in table) == sees and "All reviewers" in table
    log = b"".join(planting.client.get(url("decisions_export", "jsonl")).streaming_content).decode()
    (reveal,) = [row for row in map(json.loads, log.splitlines()) if row["act"] == "reveal"]
    assert (reveal["planted"], reveal["planted_reader"], reveal["reviewer"]) == ("missed", "rev", "rev")
    told = json.loads(command("covid", "--json"))
    assert told["all"] == {
        "missed": 1, "found": 0, "partly": 0, "no_identifier": 0, "waiting": 0, "elsewhere": 0, "share": 1.0,
        "interval": [pytest.approx(0.2065, abs=1e-3), 1.0], "few": True,
    }  # fmt: skip
    assert [one["reviewer"] for one in told["reviewers"]] == ["rev"] and told["left"] is None
    assert "1 of 1" in command("covid")


def test_found_is_told_on_the_page_that_comes_next(planting, sign_in):
    switch_on(planting, sign_in)
    page(planting)
    mark = {"act": "add", "start": 0, "end": 11, "label": planting.labels["PATIENT"], "quote": TEXT[:11]}
    assert post(planting, "review_decide", **mark).status == 200
    following = close(planting).json["next"]
    html = check_page(planting.client.get(following, follow=True))
    assert "1 known identifier had been left out of the proposals, and the reading found it." in html
    assert data_of(page(planting))["proposals"][0]["planted"] == "found", "the closed note says so too"
    following = close(planting, planting.notes[1]).json["next"]
    assert "had been left out" not in check_page(planting.client.get(following, follow=True))


def test_what_was_hidden_stays_so_when_the_option_goes_off(planting, sign_in):
    switch_on(planting, sign_in)
    page(planting)
    switch_on(planting, sign_in, share="0")
    assert [one["start"] for one in data_of(page(planting))["proposals"]] == [44, 61]
    assert len(data_of(page(planting, planting.notes[1]))["proposals"]) == 3
    assert close(planting).json["open"] == 1


def command(*args):
    out = io.StringIO()
    call_command("planted_leaks", *args, stdout=out)
    return out.getvalue()
