"""Review by the API: note by note, by rule and by string, and what the routes keep to themselves."""

import pytest

from annotations.core.services import NOTE_READ
from annotations.models import Author, Event, Project, Review, Span
from annotations.notes.events import NOTES_SEARCHED
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.pages import TEXT
from tests.worlds.programs import Program
from tests.worlds.reviewing import url

OPEN = {"state": "open"}


@pytest.fixture
def rev(suggested):
    return Program(suggested.rev)


@pytest.fixture
def path(suggested):
    return f"/projects/covid/reviews/{suggested.run.pk}/notes/{suggested.note.pk}"


def ids_in(review):
    return [one["id"] for one in review["suggestions"]]


def test_a_note_from_its_suggestions_to_gold(suggested, rev, path):
    listed = rev.get("/projects/covid/reviews").json()["items"]
    assert [(one["run_author"], one["done"], one["left"]) for one in listed] == [(suggested.run.pk, 0, 1)]
    order = f"/projects/covid/reviews/{suggested.run.pk}/next?order=uncertainty&label=HOSPITAL"
    assert rev.get(order).json() == {"note": suggested.note.pk}
    name, place = ids_in(rev.get(path).json())
    assert ids_in(rev.get(f"{path}?label=HOSPITAL&least=0.5&state=open").json()) == [place]
    assert rev.get(f"{path}?most=0.5").json()["suggestions"] == []

    def decide(**body):
        return rev.post(f"{path}/decisions", body)

    assert decide(act="accept", suggestion=name, seen=OPEN).json()["open"] == 1
    assert decide(act="reject", suggestion=place, seen=OPEN).json()["suggestions"][1]["state"] == "rejected"
    assert decide(act="undo").json()["suggestions"][1]["state"] == "open"
    corrected = decide(
        act="correct", suggestion=place, seen=OPEN, start=44, end=50, label="CITY", quote="Torino"
    ).json()
    assert corrected["suggestions"][1]["accepted"] == {"start": 44, "end": 50, "label": "CITY"}
    added = decide(act="add", start=31, end=41, label="DATE").json()
    assert [(one["start"], one["label"]) for one in added["gold"]] == [(0, "PATIENT"), (31, "DATE"), (44, "CITY")]
    finished = rev.post(f"{path}/finish", {}).json()
    assert (finished["finished"], finished["stage"], finished["leaks_found"]) == (True, "finished", None)
    assert decide(act="undo").status_code == 409
    assert rev.post(f"{path}/reopen").json()["stage"] == "first"
    log = rev.get("/projects/covid/decisions?format=jsonl")
    assert b"".join(log.streaming_content).count(b"\n") == 5
    acceptance = rev.get("/projects/covid/acceptance").json()
    assert acceptance["labels"][0] | {"bulk": 0} == acceptance["labels"][0]
    assert {one["label"]: one["right"] for one in acceptance["labels"]} == {"PATIENT": 1, "HOSPITAL": 0}


def test_what_a_decision_lacks_is_named(suggested, rev, path):
    (name, _place) = ids_in(rev.get(path).json())

    def fields(**body):
        answer = rev.post(f"{path}/decisions", body)
        assert answer.status_code == 422
        return [one["field"] for one in answer.json()["errors"]]

    assert fields(act="accept") == ["suggestion", "seen"]
    assert fields(act="add", start=0) == ["end", "label"]
    assert fields(act="correct", suggestion=name, seen=OPEN, start=0, end=3, label="NONE") == ["label"]
    assert fields(act="correct", suggestion=name, seen=OPEN, start=0, end=3, label="CITY", quote="xyz") == ["quote"]
    assert fields(act="add", start=0, end=900, label="CITY") == ["end"]
    assert fields(act="accept", suggestion=10**9, seen=OPEN) == ["suggestion"]
    assert fields(act="accept", suggestion=name, seen={"state": "accepted"}) == ["seen.accepted"]
    body = {"act": "accept", "suggestion": name, "seen": OPEN}
    Program(suggested.mia).post(f"{path}/decisions", body | {"act": "reject"})
    refused = rev.post(f"{path}/decisions", body)
    assert (refused.status_code, refused.json()["code"]) == (409, "moved")


def test_many_decisions_at_once_are_refused_on_their_own(suggested, rev, path):
    name, place = ids_in(rev.get(path).json())
    decisions = [
        {"act": "accept", "suggestion": name, "seen": OPEN}, {"act": "redo"},
        {"act": "reject", "suggestion": place, "seen": OPEN},
    ]  # fmt: skip
    answer = rev.post(f"{path}/decisions/batch", {"decisions": decisions}).json()
    assert [(one["place"], one["code"]) for one in answer["refused"]] == [(1, "nothing")]
    assert [one["state"] for one in answer["suggestions"]] == ["accepted", "rejected"]
    assert rev.post(f"{path}/decisions/batch", {"decisions": []}).status_code == 422


def test_a_bulk_act_by_rule_and_its_undo(suggested, rev):
    acts = "/projects/covid/bulk-acts"
    planned = rev.post(acts, {"runs": [suggested.run.pk], "least": 75})
    assert planned.status_code == 201
    found = planned.json()
    assert (found["state"], found["preview"]["decided"], found["rule"]["least"]) == ("planned", 2, 0.75)
    own = f"{acts}/{found['id']}"
    assert Program(suggested.mia).post(f"{own}/start", {}).status_code == 409
    done = rev.post(f"{own}/start", {}).json()
    assert (done["state"], done["decided"], done["preview"]) == ("done", 2, None)
    assert [one["id"] for one in rev.get(acts).json()["items"]] == [found["id"]]
    assert (rev.post(f"{own}/undo").json()["undone"], rev.get(own).json()["state"]) == (2, "undone")
    refused = rev.post(acts, {"runs": [suggested.run.pk], "kind": "agreed", "agree": 2})
    assert [one["field"] for one in refused.json()["errors"]] == ["runs"]


def test_a_string_in_all_notes(suggested, rev):
    strings = "/projects/covid/suggested-strings"
    listed = rev.get(f"{strings}?limit=1").json()
    (first,) = listed["items"]
    (second,) = rev.get(f"{strings}?limit=1&cursor={listed['next']}").json()["items"]
    assert {first["text"], second["text"]} == {"Mario Rossi", "Torino"}
    (string,) = [one for one in (first, second) if one["text"] == "Torino"]
    own = f"{strings}/{string['id']}"
    (found,) = rev.get(f"{own}/suggestions").json()["items"]
    assert (found["marked"], found["state"], found["note"]) == ("Torino", "open", suggested.note.pk)
    assert Event.objects.get(verb=NOTES_SEARCHED).data["notes"] == [suggested.note.pk]
    nothing = rev.post(f"{own}/bulk-acts", {"act": "accept", "but": [found["suggestion"]]})
    assert (nothing.status_code, nothing.json()["code"]) == (409, "none")
    ids = rev.post(f"{own}/bulk-acts", {"act": "accept", "but": [suggested.place.pk]})
    assert [one["field"] for one in ids.json()["errors"]] == ["but"], "ids would show which suggestions are hidden"
    planned = rev.post(f"{own}/bulk-acts", {"act": "accept", "to": "CITY"}).json()
    assert planned["rule"]["to"] == "CITY"
    assert rev.post(f"/projects/covid/bulk-acts/{planned['id']}/start", {}).json()["decided"] == 1


def test_anonymous_adjudication_hides_whose_spans_gold_has(suggested, rev, path):
    Project.objects.update(anonymous_adjudication=True)
    gold = make.make_author(suggested.project, kind="gold", name="gold")
    held = make.make_set(suggested.note, gold, [(31, 41, "DATE")], submitted=True)
    Span.objects.filter(annotation_set=held).update(provenance={"from": "annotator:ann"})
    assert [one["origin"] for one in rev.get(path).json()["gold"]] == ["annotator"]


# The review pages: content, next note, and numbers of queries


def test_the_page_holds_the_note_and_the_suggestions(suggested, sign_in):
    """Label keys that the page uses itself are not offered."""
    suggested.project.label_set.labels.filter(name="CITY").update(hotkey="a")
    suggested.project.label_set.labels.filter(name="DATE").update(hotkey="E")
    answer = sign_in(suggested.rev).get(url(suggested, "review"))
    assert "0 of 1 reviewed" in check_page(answer)
    data = answer.context["data"]
    assert [(p["start"], p["end"], p["state"], p["source"]) for p in data["suggestions"]] == [
        (0, 11, "open", "rule.of.mine"), (44, 50, "open", "rule.of.mine")
    ]  # fmt: skip
    assert (data["text"], data["person"]) == (TEXT, suggested.rev.pk)
    assert (data["finished"], data["open"], data["gold"]) == (False, 2, [])
    event = Event.objects.get(verb=NOTE_READ)
    assert (event.actor, event.document_id) == (suggested.rev, suggested.note.pk)
    keys = {label["name"]: label["key"] for label in answer.context["labels"]}
    assert (keys["CITY"], keys["DATE"], keys["PATIENT"]) == ("", "", "1")


def test_next_starts_over_and_ends_on_a_final_page(suggested, sign_in):
    client, second = sign_in(suggested.rev), suggested.notes[1]
    make.make_set(second, suggested.run, [], submitted=True)
    first_url, second_url = url(suggested, "review"), url(suggested, "review", note=second.pk)
    where = url(suggested, "review_next")
    for query, there in (
        ("", first_url), (f"?after={suggested.note.pk}", second_url), (f"?after={second.pk}", first_url),
        ("?after=x", first_url), ("?after=" + "9" * 30, first_url),
    ):  # fmt: skip
        assert client.get(where + query).url == there
    finished = {"author": suggested.run, "finished_at": "2026-01-01T00:00:00Z", "finished_by": suggested.rev}
    for note in (suggested.note, second):
        Review.objects.create(document=note, **finished)
    assert "The review of all 2 notes is finished" in check_page(client.get(where))
    assert "Reviewed" in check_page(client.get(first_url))


def test_queries_don_t_grow(suggested, rev, decide, django_assert_max_num_queries):
    decide("accept")
    gold = Author.objects.get(kind="gold")
    annotation_set = suggested.name.annotation_set
    with django_assert_max_num_queries(34):  # on PostgreSQL one more than on SQLite
        decide("reject", seen=["accepted", 0, 11, suggested.labels["PATIENT"]])
    for start in range(20, 40):
        make.make_span(annotation_set, start, start + 1, "DATE")
        make.make_span(gold.annotation_sets.get(), start, start + 1, "CITY")
    with django_assert_max_num_queries(34):
        decide("accept", seen=["rejected"])
    with django_assert_max_num_queries(32):
        rev.get(url(suggested, "review"))
