"""Planted leaks on the pages: the option, page sources that reveal nothing, finishing, and the result."""

import json
import uuid
from types import SimpleNamespace

import pytest

from annotations.models import BulkAct, PlantedLeak, Project, Review, Span
from annotations.review.services.planting import draw_leaks
from tests import factories as make
from tests.held import made_once
from tests.worlds.checks import check_page
from tests.worlds.commands import answered
from tests.worlds.pages import TEXT, make_world, url
from tests.worlds.reviewing import data_of, send, suggestions

SUGGESTED = [(0, 11, "PATIENT"), (44, 50, "CITY"), (61, 68, "DOCTOR")]


def make_planting() -> SimpleNamespace:
    """Two runs that agree on two notes. The option is off; once it is on, a leak is planted in the first note."""
    world = make_world()
    world.runs = [make.make_author(world.project, kind="run", name=name) for name in ("rules-1", "crf-1")]
    world.run = world.runs[0]
    for note in world.notes:
        for run in world.runs:
            make.make_set(note, run, SUGGESTED, submitted=True)
    world.labels = {label.name: label.pk for label in world.project.label_set.labels.all()}
    return world


made, world = made_once(make_planting)


@pytest.fixture
def planting(world: SimpleNamespace, sign_in: type, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    world.client = sign_in(world.rev)
    first = world.notes[0].pk
    monkeypatch.setattr(
        "annotations.review.rules.planting.chance",
        lambda key, what, run, note, *place: 0.0 if what != "note" or note == first else 0.99,
    )
    return world


def switch(world, sign_in, share):
    client = sign_in(world.mia)
    form = client.get(url("project_settings")).context["form"]
    data = {name: value for name, value in form.initial.items() if value not in (None, False)}
    return client.post(url("project_settings"), data | {"planted_share": share})


def switch_on(world, sign_in):
    """Turn the option on, then store the suggestions of the first run."""
    assert switch(world, sign_in, "20").status_code == 302
    draw_leaks(world.run, [note.pk for note in world.notes])


def page(world, note=None):
    return world.client.get(url("review", world.run.pk, (note or world.note).pk))


def post(world, name, note=None, **data):
    known = {"person": world.rev.pk, "change_id": str(uuid.uuid4()), "stage": "first"}
    return send(world.client, url(name, world.run.pk, (note or world.note).pk), known | data)


def decide(world, act, suggestion):
    return post(world, "review_decide", act=act, suggestion=suggestion, seen=["open"])


def finish(world, note=None, **data):
    rest = [one["id"] for one in data_of(page(world, note))["suggestions"] if one["state"] == "open"]
    return post(world, "review_finish", note, rest=rest, **data)


def test_the_option_and_the_notice_to_reviewers(planting, sign_in):
    assert "hidden from the suggestions" not in check_page(page(planting, planting.notes[1]))
    assert switch(planting, sign_in, "20").status_code == 302
    assert Project.objects.get(slug="covid").planted_share == 20
    assert "hidden from the suggestions" not in check_page(page(planting)), "stored before"
    switch_on(planting, sign_in)
    for note in planting.notes:
        assert "In about 1 note of 5, a known or likely identifier is hidden" in check_page(page(planting, note))
    assert switch(planting, sign_in, "50").status_code == 422


def test_a_page_reveals_nothing_hidden_in_its_note(planting, sign_in):
    switch_on(planting, sign_in)
    planted, plain = (page(planting, note) for note in planting.notes)
    assert PlantedLeak.objects.get().review.document == planting.note
    shown, all_of = data_of(planted), data_of(plain)
    assert [one["start"] for one in shown["suggestions"]] == [44, 61]
    assert [one["start"] for one in all_of["suggestions"]] == [0, 44, 61]
    assert shown.keys() == all_of.keys()
    assert {*shown["suggestions"][0]} == {*all_of["suggestions"][0]}
    assert "planted" not in planted.content.decode().replace("rv-planting", "")
    assert {hint["start"] for hint in shown["hints"]} == {44, 61}, "nor does a hint from another run"
    ids = set(Span.objects.values_list("pk", flat=True))
    assert not ids & {one["id"] for data in (shown, all_of) for one in data["suggestions"]}, (
        "a gap between ids would reveal it"
    )
    state = planting.client.get(url("review_state", planting.run.pk, planting.note.pk)).json()
    assert [one["id"] for one in state["suggestions"]] == [one["id"] for one in shown["suggestions"]]
    assert data_of(page(planting))["suggestions"] == shown["suggestions"], "a reload shows the same"
    annotation_set = Span.objects.get(planted__isnull=False).annotation_set_id
    assert planting.client.get(url("note", planting.note.pk), {"set": annotation_set}).status_code == 404
    note = sign_in(planting.vic).get(url("note", planting.note.pk), {"set": annotation_set})
    assert len(note.context["spans"]) == 2 and [n for _, n in note.context["counts"]] == [1, 1]
    for label in ("PATIENT", "CITY"):
        string = make.SuggestedString.objects.get(author=planting.run, label_id=planting.labels[label])
        html = check_page(planting.client.get(url("review_string", string.pk), {"run": planting.run.pk}))
        assert html.count('name="tick"') == (1 if label == "PATIENT" else 2)


def test_decisions_by_aliases_and_by_ids(planting, sign_in):
    """Trying ids would find the gap between them, and the size of a plan would reveal which ids are shown."""
    own = suggestions(planting.note, planting.run)[2]
    switch_on(planting, sign_in)
    city, doctor = data_of(page(planting))["suggestions"]
    answer = decide(planting, "accept", city["id"])
    assert answer.status == 200 and answer.json["suggestions"][0]["id"] == city["id"]
    for pk in (PlantedLeak.objects.get().suggestion_id, 10**9, own.pk):
        refused = decide(planting, "accept", pk)
        assert (refused.status, refused.json["error"]) == (409, "suggestion")
        assert [one["id"] for one in refused.json["suggestions"]] == [city["id"], doctor["id"]]
    string = make.SuggestedString.objects.get(author=planting.run, label_id=planting.labels["DOCTOR"])
    here = url("review_string", string.pk) + f"?run={planting.run.pk}"
    tried = planting.client.post(here, {"act": "reject", "shown": [own.pk]}, follow=True)
    assert "Reload the page" in tried.content.decode() and not BulkAct.objects.exists()


def test_a_page_from_before_the_option_was_on_decides_by_ids(planting, sign_in):
    page(planting)
    switch(planting, sign_in, "20")
    assert decide(planting, "reject", suggestions(planting.note, planting.run)[2].pk).status == 200


def test_a_missed_leak_is_shown_decided_finished_and_measured(planting, sign_in):
    switch_on(planting, sign_in)
    answer = finish(planting)
    assert (answer.status, answer.json["next"], answer.json["open"]) == (200, None, 1)
    (missed,) = [one for one in answer.json["suggestions"] if one["state"] == "open"]
    assert (missed["start"], missed["planted"]) == (0, "missed")
    # The second click of a double click, a second press of the key for the rest, and the form without scripts.
    for rest in ([], [missed["id"]]):
        again = post(planting, "review_finish", rest=rest)
        assert (again.status, again.json["error"]) == (409, "open")
    here = url("review_finish", planting.run.pk, planting.note.pk)
    assert "1 suggestion is still open" in check_page(planting.client.post(here, {"stage": "first"}, follow=True))
    assert Review.objects.get(document=planting.note).finished_at is None
    decide(planting, "accept", missed["id"])
    assert post(planting, "review_finish", rest=[]).json["next"]
    for person, sees in ((planting.mia, True), (planting.rev, True), (planting.vic, False)):
        table = check_page(sign_in(person).get(url("acceptance"))).split('id="planted-title"')[1]
        assert ('<th scope="row">rev</th>' in table) == sees and "All reviewers" in table
    log = b"".join(planting.client.get(url("decisions_export", "jsonl")).streaming_content).decode()
    (reveal,) = [row for row in map(json.loads, log.splitlines()) if row["act"] == "reveal"]
    assert (reveal["planted"], reveal["planted_reviewer"], reveal["reviewer"]) == ("missed", "rev", "rev")
    result = answered("planted_leaks", "covid")
    assert result["all"] == {
        "missed": 1, "found": 0, "partly": 0, "no_identifier": 0, "waiting": 0, "elsewhere": 0, "share": 1.0,
        "interval": [pytest.approx(0.2065, abs=1e-3), 1.0], "few": True,
    }  # fmt: skip
    assert [one["reviewer"] for one in result["reviewers"]] == ["rev"] and result["left"] is None


def test_a_found_leak_is_reported_on_the_next_page(planting, sign_in):
    switch_on(planting, sign_in)
    page(planting)
    mark = {"act": "add", "start": 0, "end": 11, "label": planting.labels["PATIENT"], "quote": TEXT[:11]}
    assert post(planting, "review_decide", **mark).status == 200
    following = finish(planting).json["next"]
    assert "you found the 1 planted leak." in check_page(planting.client.get(following, follow=True))
    assert data_of(page(planting))["suggestions"][0]["planted"] == "found", "the finished note says so too"
    following = finish(planting, planting.notes[1]).json["next"]
    assert "planted leak" not in check_page(planting.client.get(following, follow=True))


def test_hidden_leaks_stay_hidden_when_the_option_is_turned_off(planting, sign_in):
    switch_on(planting, sign_in)
    switch(planting, sign_in, "0")
    assert [len(data_of(page(planting, note))["suggestions"]) for note in planting.notes] == [2, 3]
    assert finish(planting).json["open"] == 1
