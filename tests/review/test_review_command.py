"""The commands that review by a file, and reopen finished reviews: what is written, decided and refused."""

import csv
import io
import json

from django.core.management import CommandError, call_command

from annotations.models import Decision, Review
from tests.worlds.reviewing import gold_of

COLUMNS = ("note", "start", "end", "label", "decision", "new_start", "new_end", "new_label")


def review(path, *words, by="rev"):
    """Return the result, and whether the command failed."""
    out = io.StringIO()
    try:
        call_command("review", "covid", "rules-1", str(path), *words, "--by", by, "--json", stdout=out)
    except CommandError:
        return json.loads(out.getvalue()), True
    return json.loads(out.getvalue()), False


def decided(path, note, *rows):
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(COLUMNS)
        out.writerows([note.name, *row] for row in rows)


def test_suggestions_are_written_decided_and_finished(suggested, tmp_path):
    file = tmp_path / "open.csv"
    assert review(file, "--write")[0]["open"] == 2
    with file.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [(row["start"], row["end"], row["label"], row["decision"]) for row in rows] == [
        ("0", "11", "PATIENT", ""),
        ("44", "50", "HOSPITAL", ""),
    ]
    assert not any(word in file.read_text() for word in ("Mario", "Torino"))
    assert review(file)[0]["decided"] == 0, "rows without a decision are left out"

    decided(
        file, suggested.note, (0, 11, "PATIENT", "accept"), (44, 50, "HOSPITAL", "correct", "", "", "CITY"),
        (13, 20, "AGE", "add"),
    )  # fmt: skip
    assert review(file, "--finish") == ({"decided": 3, "finished": [suggested.note.name], "refused": []}, False)
    assert gold_of(suggested.note) == [(0, 11, "PATIENT"), (13, 20, "AGE"), (44, 50, "CITY")]
    assert Review.objects.get().finished_by == suggested.rev


def test_reject_and_remove(suggested, tmp_path):
    file = tmp_path / "rows.csv"
    decided(file, suggested.note, (0, 11, "PATIENT", "reject"), (13, 20, "AGE", "add"), (13, 20, "AGE", "remove"))
    assert review(file)[0]["decided"] == 3
    assert gold_of(suggested.note) == []
    assert Decision.objects.get().verdict == "rejected"


def test_refused_rows_are_named_and_the_others_count(suggested, tmp_path):
    file = tmp_path / "rows.csv"
    decided(
        file, suggested.note, (0, 10, "PATIENT", "accept"), (0, 11, "PATIENT", "undo"), (0, 11, "X", "accept"),
        (0, 4000, "AGE", "add"), (44, 50, "HOSPITAL", "accept"),
    )  # fmt: skip
    assert review(file, by="ann")[0]["code"] == "access"
    result, failed = review(file, "--finish")
    assert failed and result["decided"] == 1 and result["finished"] == []
    found = [(each["line"], each["code"]) for each in result["refused"]]
    assert found[:3] == [(2, "row"), (3, "row"), (4, "label")] and found[4] == (None, "open")
