"""The commands that list, add, change and delete labels and their categories."""

import csv

import pytest
from django.core.management import call_command

from annotations.models import Event, Label
from tests import factories as make
from tests.worlds.commands import failed, told

pytestmark = pytest.mark.django_db


def run(name, *words):
    return told(name, "covid", *words)


def refused(name, *words):
    found = failed(name, "covid", *words)
    return found["code"], found["error"]


@pytest.fixture
def project(db):
    found = make.make_project("covid")
    make.make_member(found, "manager", "mia")
    make.make_member(found, "reviewer", "rev")
    return found


@pytest.fixture
def table(tmp_path):
    def write(columns, *rows):
        path = tmp_path / "labels.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([columns, *rows])
        return path

    return write


# ── Labels ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_labels_are_listed_and_written_to_a_file_that_changes_nothing_when_it_is_read(project, tmp_path, capsys):
    make.make_set(make.make_note(project), make.make_member(project), [(0, 5, "PATIENT")])
    rows = {row["code"]: row for row in run("labels")["labels"]}
    assert len(rows) == 6 and rows["PATIENT"]["used"] and not rows["CITY"]["used"]
    assert (rows["CITY"]["hotkey"], rows["CITY"]["merged_into"], rows["CITY"]["attributes"]) == ("c", None, [])
    call_command("labels", "covid")
    assert "key c" in capsys.readouterr().out
    call_command("rename_label", "covid", "AGE", "--attributes", "Family", "Status: a | b", "--description", "=years")
    about = {row["code"]: row["attributes"] for row in run("labels")["labels"]}["AGE"]
    assert about == [{"name": "Family"}, {"name": "Status", "values": ["a", "b"]}]
    events, file = Event.objects.count(), tmp_path / "labels.csv"
    assert run("labels", "--write", file)["written"] == 6 and refused("labels", "--write", file)[0] == "path"
    found = run("labels", "--from", file, "--by", "mia")
    assert (found["added"], found["changed"], found["unchanged"], Event.objects.count()) == ([], [], 6, events)


def test_a_file_adds_and_changes_labels(project, table):
    file = table(
        ("code", "name", "category", "hotkey", "description", "attributes"),
        ("CITY", "Town", "", "t", "Towns and cities", "Family\nStatus: now | then"),
        ("", "Street", "C1", "s", "", ""),
    )
    preview = run("labels", "--from", file, "--preview", "--by", "mia")
    assert (preview["preview"], preview["added"], preview["changed"]) == (True, ["Street"], ["CITY"])
    assert not Label.objects.filter(name__in=["Town", "Street"]).exists()

    assert run("labels", "--from", file, "--by", "mia")["added"] == ["Street"]
    city, street = Label.objects.get(code="CITY"), Label.objects.get(code="Street")
    assert (city.name, city.hotkey, city.description, city.placeholder) == ("Town", "t", "Towns and cities", "[CITY]")
    assert [each["name"] for each in city.attributes] == ["Family", "Status"]
    assert (street.name, street.category.code, street.hotkey, street.placeholder) == ("Street", "C1", "s", "[Street]")
    by = {event.verb: event.actor.username for event in Event.objects.all()}
    assert by == {"label.changed": "mia", "label.added": "mia"}
    again = run("labels", "--from", file, "--by", "mia")
    assert (again["added"], again["changed"], again["unchanged"]) == ([], [], 2)


def test_a_wrong_row_changes_nothing(project, table):
    for row, code, said in (
        (("NONE", "None", "C0", ""), "label", "Line 3: There is no label “NONE”."),
        (("", "Street", "C9", ""), "category", "There is no category “C9”. Categories: C0, C1"),
        (("", "patient", "C0", ""), "name", "The label “PATIENT” already exists."),
    ):
        file = table(("code", "name", "category", "hotkey"), ("DATE", "Day", "", "d"), row)
        found = refused("labels", "--from", file)
        assert found[0] == code and said in found[1] and found[1].endswith("Nothing was changed.")
        assert not Label.objects.filter(name="Day").exists() and not Event.objects.exists()


def test_files_that_are_no_table_of_labels(project, table, tmp_path):
    assert refused("labels", "--from", tmp_path / "none.csv")[0] == "path"
    assert refused("labels", "--from", table(("name",), ("Street",)))[0] == "columns"
    (tmp_path / "latin.csv").write_bytes(b"code,name\nCITY,caf\xe9\n")
    assert refused("labels", "--from", tmp_path / "latin.csv")[0] == "utf8"
    assert refused("labels", "--preview")[0] == "preview"


def test_only_unused_labels_are_deleted(project):
    make.make_set(make.make_note(project), make.make_member(project), [(0, 5, "PATIENT")])
    assert refused("labels", "--delete", "PATIENT")[0] == "used"
    assert refused("labels", "--delete", "NONE")[0] == "label"
    found = run("labels", "--delete", "CITY", "--by", "mia")
    assert found["deleted"] == "CITY" and len(found["labels"]) == 5
    assert Event.objects.get(verb="label.deleted").actor.username == "mia"
