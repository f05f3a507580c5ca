"""Adjudication through the API."""

import csv

import pytest

from annotations.models import Adjudication, AnnotationSet, Event, Label, MajorityAct
from annotations.projects.services.labels import merge_labels
from tests.factories import change
from tests.worlds.adjudicated import AGE, CITY, DOCTOR, NAME, TEXT, act, outcome
from tests.worlds.commands import answered, failed
from tests.worlds.programs import Program, fields_of

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
    desk = rita.get(world.path).json()
    span = {"start": 44, "end": 50, "label": "CITY"}
    for name, more, field in (
        ("wrong", {}, "act"), ("annotator", {}, "annotator"), ("annotator", {"annotator": 9}, "annotator"),
        ("own", {}, "span"), ("own", {"span": span}, "span.quote"),
        ("own", {"span": span | {"quote": "Milano"}}, "span.quote"),
        ("own", {"span": span | {"label": "NOWHERE", "quote": "Torino"}}, "span.label"),
        ("own", {"span": span | {"end": 5000, "quote": "Torino"}}, "span.start"),
        ("attribute", {"span": span}, "attribute"),
        ("attribute", {"span": span, "attribute": {"name": "Family", "value": False}}, "attribute.value"),
        ("drop", {}, "span"),
    ):  # fmt: skip
        assert fields_of(decide(rita, world, desk, CITY, name, **more)) == [field], (name, more)
    assert fields_of(rita.post(f"{world.path}/decide", {"act": "majority"})) == ["seen"]
    assert decide(Program(world.rosa), world, desk, NAME, "majority").status_code == 200
    late = decide(rita, world, desk, NAME, "nothing")
    assert (late.status_code, late.json()["code"]) == (409, "moved"), "the location has changed"


def test_the_code_of_a_merged_label_stands_for_the_label_that_it_was_merged_into(world, rita):
    city, hospital = (Label.objects.get(label_set__project=world.project, code=code) for code in ("CITY", "HOSPITAL"))
    merge_labels(source=city, target=hospital, actor=None)
    desk = rita.get(world.path).json()
    span = {"start": CITY[0], "end": CITY[1], "label": "CITY", "quote": TEXT[slice(*CITY)]}
    assert decide(rita, world, desk, CITY, "own", span=span).status_code == 200
    assert ("HOSPITAL", TEXT[slice(*CITY)]) in outcome(world)


def test_unanimous_notes_are_finished_together(world, rita):
    assert rita.post(f"{COVID}/adjudications/unanimous").json()["code"] == "rule"
    change(world.project, unanimous_passes=True)
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


# ── Adjudicating by a file: what is written, decided and refused ──


def adjudicate(*words, by="rita", run=answered):
    return run("adjudicate", "covid", *words, "--by", by)


def written(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def decided(path, rows):
    with path.open("w", newline="") as file:
        out = csv.DictWriter(file, rows[0])
        out.writeheader()
        out.writerows(rows)


def test_what_is_open_is_written_decided_and_finished(world, tmp_path):
    file = tmp_path / "open.csv"
    assert adjudicate(file, "--write") == {"file": str(file), "open": 4}
    rows = written(file)
    assert [(int(row["start"]), int(row["end"]), row["state"]) for row in rows] == [
        (*NAME, "open"), (*AGE, "open"), (31, 41, "agreed"), (*CITY, "open")
    ]  # fmt: skip
    assert rows[3]["versions"] == "anna: 44-50 CITY; bruno: 44-50 HOSPITAL; carla: nothing"
    assert not any(word in file.read_text() for word in ("Mario", "Torino"))

    decided(file, [{"note": "caso-1", "start": 0, "end": 20, "decision": "span: AGE"}])
    assert adjudicate(file)["decided"] == 1 and ("AGE", TEXT[:20]) in outcome(world), "it joins what it overlaps"
    act(world, "undo")
    for row, decision in zip(rows, ["majority", "nothing", "majority", "annotator: bruno"], strict=True):
        row["decision"] = decision
    decided(file, rows)
    assert adjudicate(file, "--finish") == {"decided": 4, "finished": ["caso-1"], "refused": []}
    assert outcome(world) == [("PATIENT", "Mario Rossi"), ("DATE", "12/03/2021"), ("HOSPITAL", "Torino")]
    assert Adjudication.objects.get().finished_by == world.rita
    events = Event.objects.count()
    assert adjudicate(file, run=failed)["refused"], "a finished note takes no decision"
    assert Event.objects.count() == events


def test_refused_rows_are_named_and_the_others_count(world, tmp_path):
    file = tmp_path / "open.csv"
    adjudicate(file, "--write")
    rows = written(file)
    act(world, "nothing", NAME, user=world.rosa)
    rows[0]["decision"], rows[1]["decision"], rows[2]["decision"] = "majority", "nothing", "maybe"
    rows += [rows[0] | {"note": "none"}, rows[0] | {"start": "1", "key": ""}, rows[0] | {"end": "x"}]
    rows += [rows[3] | {"decision": "annotator: rita"}, rows[3] | {"decision": "span: NONE"}]
    decided(file, rows)
    result = adjudicate(file, "--finish", run=failed)
    assert result["decided"] == 1 and result["finished"] == []
    assert [(each["line"], each["code"]) for each in result["refused"]] == [
        (2, "moved"), (4, "row"), (6, "note"), (7, "row"), (8, "row"), (9, "row"), (10, "label"), (None, "open")
    ]  # fmt: skip


def test_files_that_are_refused(world, tmp_path):
    """No table, and a file with decisions, which is not overwritten."""
    file = tmp_path / "bad.csv"
    for content, code in (
        (b"note,start,end\n", "columns"), (b"", "columns"), (b"note,start,end,decision\n\xff,1,2,nothing\n", "utf8"),
    ):  # fmt: skip
        file.write_bytes(content)
        assert adjudicate(file) == code
    assert adjudicate(file, "--write") == "path" and file.read_bytes() == content
    decided(file, [{"note": "caso-1", "start": 13, "end": 15, "decision": "nothing"}])
    for by, code in (("anna", "access"), ("nobody", "user")):
        assert adjudicate(file, by=by) == code
