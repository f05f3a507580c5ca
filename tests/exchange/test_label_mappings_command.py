"""Label mappings by command and through the API."""

import csv
import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotations.models import Event, LabelMapping, MappedLabel
from tests.worlds.programs import Program

pytestmark = pytest.mark.django_db


def run(*words):
    out = io.StringIO()
    call_command("label_mappings", "covid", *map(str, words), "--json", stdout=out)
    return json.loads(out.getvalue())


def refused(*words):
    out = io.StringIO()
    with pytest.raises(CommandError):
        call_command("label_mappings", "covid", *map(str, words), "--json", stdout=out)
    found = json.loads(out.getvalue())
    return found["code"], found["error"]


@pytest.fixture
def table(tmp_path):
    def write(*rows, columns=("label", "code", "leave_out")):
        path = tmp_path / "codes.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([columns, *rows])
        return path

    return write


def codes():
    return {one.label.code: one.code for one in MappedLabel.objects.select_related("label")}


def test_a_mapping_is_added_by_a_file_changed_and_deleted(world, table, capsys):
    assert run() == {"mappings": []}
    rows = table(("PATIENT", "PATIENT"), ("AGE", "", "yes"))
    found = run("To i2b2", "--from", rows, "--target", "i2b2-2014", "--by", "mia")
    assert (found["name"], found["target"], found["open"]) == ("To i2b2", "i2b2-2014", 4)
    assert codes() == {"PATIENT": "PATIENT", "AGE": ""}
    # Labels that the file lacks stay; an empty code without “yes” removes the choice.
    assert run("To i2b2", "--from", table(("PATIENT", "", "")), "--by", "mia")["open"] == 5
    assert codes() == {"AGE": ""}
    done = run("To i2b2", "--suggested", "--rename", "For i2b2", "--by", "mia")
    assert (done["name"], done["open"]) == ("For i2b2", 0)
    assert {row["label"]: row["code"] for row in done["labels"]} == codes()
    assert run("--by", "rev")["mappings"][0] == {key: done[key] for key in ("id", "name", "target", "open")}
    call_command("label_mappings", "covid", "For i2b2")
    assert "For i2b2" in capsys.readouterr().out
    assert run("For i2b2", "--delete", "--by", "mia") == {"deleted": "For i2b2"}
    assert not LabelMapping.objects.exists()
    assert {event.actor for event in Event.objects.all()} == {world.mia}


def test_a_mapping_with_suggestions_is_written_to_be_filled_in(world, tmp_path):
    run("Ours", "--add", "--by", "mia")
    assert run("Ours", "--write", tmp_path / "ours.csv")["written"] == 6
    with (tmp_path / "ours.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["suggestion"] for row in rows} >= {"PATIENT", "CITY"} and not any(row["code"] for row in rows)
    assert run("Ours", "--from", tmp_path / "ours.csv", "--by", "mia")["open"] == 6


def test_what_is_refused_changes_nothing(world, table):
    run("Ours", "--add", "--by", "mia")
    for words, code in (
        (("None",), "mapping"),
        (("None", "--suggested"), "mapping"),
        (("Ours", "--add"), "name"),
        (("--suggested",), "name"),
        (("Ours", "--target", "i2b2-2014"), "target"),
        (("New", "--add", "--target", "none"), "target"),
        (("Ours", "--from", table(("CITY", "TOWN")), "--target", "i2b2-2014"), "target"),
        (("Ours", "--delete", "--by", "rev"), "access"),
        (("--by", "vic"), "access"),
    ):
        assert refused(*words)[0] == code
    for row, code, said in (
        (("NONE", "X", ""), "label", "Line 3: "),
        (("CITY", "a b", ""), "code", "“a b”"),
        (("CITY", "patient", ""), "case", ""),
        (("CITY", "X", "perhaps"), "leave_out", ""),
    ):
        found = refused("Fresh", "--from", table(("PATIENT", "PATIENT", ""), row))
        assert found[0] == code and said in found[1]
    assert [one.name for one in LabelMapping.objects.all()] == ["Ours"] and not codes()


MAPPINGS = "/projects/covid/label-mappings"
CODES = {"PATIENT": "NAME", "DOCTOR": "NAME", "DATE": "DATE", "CITY": "PLACE", "HOSPITAL": "PLACE", "AGE": ""}


@pytest.fixture
def program(world) -> Program:
    return Program(world.mia)


def errors_of(answer) -> dict[str, str]:
    assert answer.status_code == 422
    return {error["field"]: error["reason"] for error in answer.json()["errors"]}


def test_a_mapping_from_its_first_choice_to_its_end(program):
    made = program.post(MAPPINGS, {"name": "Partner"})
    assert (made.status_code, made.json()["open"]) == (201, 6)
    one = f"{MAPPINGS}/{made.json()['id']}"
    part = program.patch(one, {"codes": {"PATIENT": "NAME"}}, if_match=made.headers["ETag"])
    assert part.json()["open"] == 5
    late = program.patch(one, {"name": "Other"}, if_match=made.headers["ETag"])
    assert (late.status_code, late.headers["ETag"]) == (412, part.headers["ETag"])
    whole = program.patch(one, {"name": "Other", "codes": CODES}, if_match=part.headers["ETag"]).json()
    assert {row["label"]: row["code"] for row in whole["labels"]} == CODES
    assert (whole["name"], whole["open"]) == ("Other", 0)
    assert program.patch(one, {"codes": {"AGE": None}}, if_match="*").json()["open"] == 1
    assert program.get(one).json()["name"] == "Other"
    listed = {"id": whole["id"], "name": "Other", "target": "", "open": 1}
    assert program.get(MAPPINGS).json()["items"] == [listed]
    assert program.delete(one).status_code == 204
    assert not LabelMapping.objects.exists()


def test_what_is_wrong_with_a_mapping(program):
    one = f"{MAPPINGS}/{program.post(MAPPINGS, {'name': 'Partner'}).json()['id']}"
    assert set(errors_of(program.post(MAPPINGS, {"name": "Partner"}))) == {"name"}
    assert set(errors_of(program.post(MAPPINGS, {"name": "New", "target": "none"}))) == {"target"}
    for wrong, field in (
        ({"NOWHERE": "A"}, "codes.NOWHERE"),
        ({"AGE": "a b"}, "codes"),
        ({"AGE": "x" * 61}, "codes.AGE"),
        ({"AGE": "Name", "DATE": "NAME"}, "codes"),
    ):
        assert set(errors_of(program.patch(one, {"codes": wrong}, if_match="*"))) == {field}
    made = program.post(MAPPINGS, {"name": "Fixed", "target": "meddocan"}).json()
    fixed = f"{MAPPINGS}/{made['id']}"
    assert set(errors_of(program.patch(fixed, {"codes": {"AGE": "OLD"}}, if_match="*"))) == {"codes.AGE"}
