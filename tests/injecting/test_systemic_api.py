"""Systemic errors, errors of logs and of a vocabulary through the API."""

import pytest

from annotations.jobs.runner import run as work
from annotations.models import Event
from models_runtime.models import InjectedRun, SystemicError
from tests.injecting.rejected import CLUBS, errors_of
from tests.worlds.programs import Program

pytestmark = [pytest.mark.queue]
PATH = "/projects/ward/injections"


def test_a_program_accepts_a_cluster_and_injects_errors_like_it(reviewed):
    program = Program(reviewed.mia)
    listed = program.get(f"{PATH}/systemic/clusters").json()["items"]
    assert [(one["number"], one["label"], one["size"]) for one in listed] == [(1, "CITY", 6), (2, "CITY", 6)]
    clubs = next(one for one in listed if one["strings"][0]["string"] in CLUBS)
    assert {"club", "fútbol"} <= set(clubs["words"])
    example = clubs["examples"][0]
    assert example["marked"] in CLUBS and "Socio del club de fútbol" in example["before"]
    assert len(example["marked"]) == example["end"] - example["start"]
    read = Event.objects.filter(verb="note.read", data__what="systemic errors", actor=reviewed.mia)
    assert set(read.values_list("document_id", flat=True)) == {
        example["note"] for one in listed for example in one["examples"]
    }
    first = program.get(f"{PATH}/systemic/clusters?limit=1").json()
    following = program.get(f"{PATH}/systemic/clusters?limit=1&cursor={first['next']}").json()
    assert [first["items"][0], following["items"][0]] == listed and following["next"] is None

    wanted = {"name": "clubs", "key": clubs["key"]}
    made = program.post(f"{PATH}/systemic", wanted)
    assert made.status_code == 201 and made.json()["rule"] == "systemic:clubs" and made.json()["examples"] == 6
    assert program.post(f"{PATH}/systemic", wanted).json() == made.json()
    assert program.get(f"{PATH}/systemic").json()["items"] == [made.json()]
    rules = {one["key"]: one["rule"] for one in program.get(f"{PATH}/systemic/clusters").json()["items"]}
    assert rules.pop(clubs["key"]) == "systemic:clubs" and list(rules.values()) == [""]
    started = program.post(PATH, {"gold": 1, "rules": ["systemic:clubs", "log"], "rate": 1, "name": "mine"})
    assert started.json()["rules"] == ["systemic:clubs", "log"]
    work(InjectedRun.objects.get().job_id)
    assert [row[1:] for row in errors_of("mine") if row[0] == "caso-new"] == [
        ("Atlético Burgos", "CITY", "", "systemic:clubs", "systemic"), ("omeprazol", "CITY", "", "log", "log"),
    ]  # fmt: skip

    one = f"{PATH}/systemic/{made.json()['id']}"
    assert [program.delete(one).status_code for _ in range(2)] == [204, 404]
    assert not SystemicError.objects.exists()
    assert Event.objects.filter(verb="systemic.removed", actor=reviewed.mia).count() == 1


def test_what_is_refused(reviewed):
    program = Program(reviewed.mia)
    key = program.get(f"{PATH}/systemic/clusters").json()["items"][0]["key"]
    for body, status, code in (
        ({"name": "clubs", "key": "0" * 16}, 409, "stale"),
        ({"name": "Clubs!", "key": key}, 422, "name"),
        ({"name": "clubs", "key": key, "seed": -1}, 422, "seed"),
    ):
        refused = program.post(f"{PATH}/systemic", body)
        found = refused.json()
        assert (refused.status_code, found["errors"][0]["field"] if status == 422 else found["code"]) == (status, code)
    reading = Program(reviewed.mia, scope="read")
    assert reading.get(f"{PATH}/systemic/clusters").status_code == 200
    assert reading.post(f"{PATH}/systemic", {"name": "clubs", "key": key}).status_code == 403
    assert Program(reviewed.vic).get(f"{PATH}/systemic/clusters").status_code == 403
    assert not SystemicError.objects.exists()


def test_a_program_sends_a_vocabulary_of_errors(reviewed):
    program = Program(reviewed.mia)
    terms = [{"string": "Socia", "label": "PATIENT"}, {"string": " fútbol ", "label": "HOSPITAL", "count": 2}]
    wrong = [*terms, {"string": "b", "label": "TOWN"}, {"string": " ", "label": "CITY"}]
    refused = program.post(PATH, {"gold": 1, "terms": wrong}).json()
    assert [row["field"] for row in refused["errors"]] == ["terms.2.label", "terms.3.string"]
    assert refused["errors"][0]["reason"].startswith("There is no label “TOWN”. Use one of: ")
    assert program.post(PATH, {"gold": 1, "terms": [{"string": "a", "label": "CITY", "count": 0}]}).status_code == 422
    assert program.post(PATH, {"gold": 1, "rules": []}).status_code == 422
    assert not InjectedRun.objects.exists()
    started = program.post(PATH, {"gold": 1, "rate": 1, "terms": terms, "name": "mine"})
    assert (started.status_code, started.json()["rules"]) == (202, ["csv"])
    row = InjectedRun.objects.get()
    assert row.terms == [["Socia", "PATIENT", 1], ["fútbol", "HOSPITAL", 2]]
    work(row.job_id)
    assert [found[1:] for found in errors_of("mine") if found[0] == "caso-new"] == [
        ("Socia", "PATIENT", "", "csv", "log"), ("fútbol", "HOSPITAL", "", "csv", "log"),
    ]  # fmt: skip
    both = program.post(PATH, {"gold": 1, "rules": ["cities", "log"], "terms": terms})
    assert both.json()["rules"] == ["cities", "log", "csv"]
