"""Review by the API: note by note, by rule and by string, and what the routes keep to themselves."""

import pytest

from annotations.models import Event, Project, Span
from annotations.notes.events import NOTES_SEARCHED
from tests import factories as make
from tests.worlds.programs import Program

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
