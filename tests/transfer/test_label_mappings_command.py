"""The command that lists, shows, adds, changes and deletes label mappings."""

import csv
import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotations.models import Event, LabelMapping, MappedLabel

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
    found = run("To i2b2", "--from", table(("PATIENT", "PATIENT"), ("AGE", "", "yes")), "--target", "i2b2-2014",
                "--by", "mia")  # fmt: skip
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
    said = capsys.readouterr().out
    assert "For i2b2 to i2b2-2014: exports can use it." in said and "left out" in said
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
    cases = [
        (("None",), "mapping"),
        (("None", "--suggested"), "mapping"),
        (("Ours", "--add"), "name"),
        (("--suggested",), "name"),
        (("Ours", "--target", "i2b2-2014"), "target"),
        (("New", "--add", "--target", "none"), "target"),
        (("Ours", "--from", table(("CITY", "TOWN")), "--target", "i2b2-2014"), "target"),
    ]
    for words, code in cases:
        assert refused(*words)[0] == code
    rows = [
        (("NONE", "X", ""), "label", "Line 3: There is no label “NONE”."),
        (("CITY", "a b", ""), "code", "“a b” can't be written"),
        (("CITY", "patient", ""), "case", "differ only in case"),
        (("CITY", "X", "perhaps"), "leave_out", "must be “yes” or empty"),
    ]
    for row, code, said in rows:
        found = refused("Fresh", "--from", table(("PATIENT", "PATIENT", ""), row))
        assert found[0] == code and said in found[1]
    assert [one.name for one in LabelMapping.objects.all()] == ["Ours"] and not codes()


def test_managers_change_mappings_and_reviewers_see_them(world, table):
    run("Ours", "--add", "--by", "mia")
    assert run("Ours", "--by", "rev")["open"] == 6
    for words in (("Ours", "--delete"), ("New", "--add"), ("Ours", "--from", table(("CITY", "X")))):
        assert refused(*words, "--by", "rev")[0] == "access"
    for name in ("vic", "ann", "out"):
        assert refused("--by", name)[0] == "access"
    assert LabelMapping.objects.count() == 1 and not codes()
