"""Adjudication through the API."""

import pytest

from annotations.models import Adjudication, AnnotationSet, Event, MajorityAct
from tests.worlds.adjudicated import AGE, CITY, DOCTOR, NAME, outcome
from tests.worlds.programs import Program

COVID = "/projects/covid"


@pytest.fixture
def rita(world) -> Program:
    world.path = f"{COVID}/notes/{world.note.pk}/adjudication"
    return Program(world.rita)


def seen(desk: dict, bounds: tuple[int, int]) -> list[dict]:
    found = [each for each in desk["locations"] if each["start"] <= bounds[0] < each["end"]]
    return [{key: each[key] for key in ("start", "end", "key")} for each in found]


def decide(program: Program, world, desk: dict, bounds: tuple[int, int], act: str, **more):
    return program.post(f"{world.path}/decide", {"act": act, "seen": seen(desk, bounds), **more})


def test_a_note_from_the_list_to_the_outcome(world, rita):
    """Majority, an annotator's version, nothing, one's own span, unanimous locations; then finish and reopen."""
    [line] = rita.get(f"{COVID}/adjudications").json()["items"]
    assert (line["note"], line["state"], line["annotators"], line["disputed"]) == (world.note.pk, "new", 3, 3)
    assert rita.get(f"{COVID}/adjudications/next").json() == {"note": world.note.pk}
    desk = rita.get(world.path).json()
    assert ([each["name"] for each in desk["annotators"]], desk["open"]) == (["anna", "bruno", "carla"], 4)
    assert desk["locations"][0]["majority"] == [{"start": 0, "end": 11, "label": "PATIENT", "attributes": {}}]
    assert Event.objects.filter(verb="note.read").count() == 1

    acts = [
        {"act": "majority", "seen": seen(desk, NAME)}, {"act": "redo"},
        {"act": "annotator", "seen": seen(desk, CITY), "annotator": 1},
    ]  # fmt: skip
    desk = rita.post(f"{world.path}/decide/batch", {"decisions": acts}).json()
    assert [(one["place"], one["code"]) for one in desk["refused"]] == [(1, "nothing")]
    desk = decide(rita, world, desk, AGE, "nothing").json()
    assert rita.post(f"{world.path}/finish").json()["code"] == "open"
    agreed = [each for each in desk["locations"] if each["state"] == "agreed"]
    desk = decide(rita, world, desk, (agreed[0]["start"], 0), "unanimous").json()
    span = {"start": DOCTOR[0], "end": DOCTOR[1], "label": "DOCTOR", "quote": "Bianchi"}
    desk = rita.post(f"{world.path}/decide", {"act": "own", "span": span}).json()
    assert outcome(world)[-1] == ("DOCTOR", "Bianchi")
    desk = rita.post(f"{world.path}/decide", {"act": "undo"}).json()
    assert (len(outcome(world)), desk["open"]) == (3, 0)

    finished = rita.post(f"{world.path}/finish").json()
    assert (finished["finished"], Adjudication.objects.get().finished_by) == (True, world.rita)
    counts = rita.get(f"{COVID}/adjudications/counts").json()
    assert (counts["finished"], counts["todo"], counts["without_gold"]) == (1, 0, 1)
    carla = Program(world.carla).get(f"{COVID}/notes/{world.note.pk}/outcome").json()["items"]
    assert [(line["fate"], line["now"]["label"]) for line in carla] == [
        ("changed", "PATIENT"), ("kept", "DATE"), ("missed", "CITY")
    ]  # fmt: skip
    assert rita.post(f"{world.path}/reopen").json()["finished"] is False
    assert Program(world.carla).get(f"{COVID}/notes/{world.note.pk}/outcome").status_code == 404


def test_what_is_wrong_with_an_act(world, rita):
    def fields(answer):
        assert answer.status_code == 422
        return {error["field"] for error in answer.json()["errors"]}

    desk = rita.get(world.path).json()
    span = {"start": 44, "end": 50, "label": "CITY"}
    for act, more, field in (
        ("wrong", {}, "act"), ("annotator", {}, "annotator"), ("annotator", {"annotator": 9}, "annotator"),
        ("own", {}, "span"), ("own", {"span": span}, "span.quote"),
        ("own", {"span": span | {"quote": "Milano"}}, "span.quote"),
        ("own", {"span": span | {"label": "NOWHERE", "quote": "Torino"}}, "span.label"),
        ("own", {"span": span | {"end": 5000, "quote": "Torino"}}, "span.start"),
        ("attribute", {"span": span}, "attribute"),
        ("attribute", {"span": span, "attribute": {"name": "Family", "value": False}}, "attribute.value"),
        ("drop", {}, "span"),
    ):  # fmt: skip
        assert fields(decide(rita, world, desk, CITY, act, **more)) == {field}, (act, more)
    assert fields(rita.post(f"{world.path}/decide", {"act": "majority"})) == {"seen"}
    assert decide(Program(world.rosa), world, desk, NAME, "majority").status_code == 200
    late = decide(rita, world, desk, NAME, "nothing")
    assert (late.status_code, late.json()["code"]) == (409, "moved"), "the location has changed"


def test_unanimous_notes_are_finished_together(world, rita):
    assert rita.post(f"{COVID}/adjudications/unanimous").json()["code"] == "rule"
    world.project.unanimous_passes = True
    world.project.save()
    for name in ("anna", "bruno", "carla"):
        world.annotation_sets[name].spans.exclude(label__name="DATE").delete()
        AnnotationSet.objects.filter(pk=world.annotation_sets[name].pk).update(version=2)
    assert rita.get(f"{COVID}/adjudications/counts").json()["unanimous"] == 1
    assert rita.post(f"{COVID}/adjudications/unanimous").json() == {"finished": 1, "left": 0}
    assert rita.post(f"{COVID}/adjudications/unanimous").json() == {"finished": 0, "left": 0}


def test_a_majority_vote_and_its_undo(world, rita):
    votes = f"{COVID}/majority-votes"
    world.note.assignments.update(state="done")
    preview = rita.get(f"{votes}/preview").json()
    assert (preview["whole"], preview["tied"], preview["ties"]) == (0, 1, 1)
    started = rita.post(votes)
    assert (started.status_code, started.json()["kind"]) == (202, "majority")
    act = MajorityAct.objects.get()
    [vote] = rita.get(votes).json()
    assert (vote["id"], vote["state"], vote["job"]) == (str(act.pk), "working", started.json()["number"])
    live = rita.post(f"{votes}/{act.pk}/undo")
    assert (live.status_code, live.json()["code"]) == (409, "live")
    rita.post(f"{COVID}/jobs/{started.json()['number']}/cancel")
    undo = rita.post(f"{votes}/{act.pk}/undo")
    assert (undo.status_code, undo.json()["kind"]) == (202, "majority_undo")
    assert rita.get(f"{votes}/{act.pk}").json()["state"] == "undoing"
