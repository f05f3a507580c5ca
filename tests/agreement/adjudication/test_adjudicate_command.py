"""Adjudicating by a file: what is written, decided and refused."""

import csv

from annotations.models import Adjudication, Event
from tests.worlds.adjudicated import AGE, CITY, NAME, TEXT, act, outcome
from tests.worlds.commands import answered, failed


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
