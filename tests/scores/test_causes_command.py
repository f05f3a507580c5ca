"""The commands score_errors and error_cause, on the errors of tests/scores/test_causes.py."""

import csv
import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotations.models import ErrorCause, Event
from annotations.scores.events import ERROR_CAUSE_ADDED, ERROR_CAUSE_REMOVED
from tests.scores.test_causes import read

__all__ = ["read"]

pytestmark = pytest.mark.django_db
RUN = ("--author", "run:rules-1")


def run(name, *words):
    """Return the result of the command, or the code of its error."""
    out = io.StringIO()
    try:
        call_command(name, "covid", *map(str, words), "--json", stdout=out)
    except CommandError:
        return json.loads(out.getvalue())["code"]
    return json.loads(out.getvalue())


def test_errors_get_causes(read, capsys):
    found = run("score_errors", *RUN, "--by", "vic")
    assert found["total"] == 3 and {row["error"] for row in found["errors"]} >= {str(read.missed), str(read.label)}
    (missed,) = run("score_errors", *RUN, "--label", "CITY")["errors"]
    assert missed == {
        "error": str(read.missed), "note": "caso-001", "kind": "missed",
        "gold": {"start": 44, "end": 50, "label": "CITY"}, "predicted": None, "causes": [],
    }  # fmt: skip
    assert run("error_cause", *RUN, read.missed, "AM", "--by", "rev")["causes"] == ["AM"]
    assert run("error_cause", *RUN, read.missed, "S", "--by", "rev")["causes"] == ["AM", "S"]
    assert [row["causes"] for row in run("score_errors", *RUN, "--cause", "S")["errors"]] == [["AM", "S"]]
    assert run("score_errors", *RUN, "--cause", "none")["total"] == 2
    call_command("error_cause", "covid", *RUN, str(read.missed), "AM", "--remove", "--by", "rev")
    assert capsys.readouterr().out == f"{read.missed}: S.\n"
    verbs = Event.objects.filter(actor=read.rev).values_list("verb", flat=True)
    assert sorted(verbs) == sorted([str(ERROR_CAUSE_ADDED)] * 2 + [str(ERROR_CAUSE_REMOVED)])


def test_what_is_refused(read):
    for words, code in (
        ((*RUN, "1:0-1-CITY:", "AM", "--by", "rev"), "error"),
        ((*RUN, read.missed, "AM", "--by", "vic"), "access"),
        ((*RUN, read.missed, "AM"), "by"),
        (("--author", "none", read.missed, "AM", "--by", "rev"), "author"),
    ):
        assert run("error_cause", *words) == code
    assert run("score_errors", *RUN, "--note", "none") == "note"
    assert not ErrorCause.objects.exists()


def test_errors_are_written_with_their_sentences(read, tmp_path):
    file = tmp_path / "errors.csv"
    assert run("score_errors", *RUN, "--write", file, "--by", "rev")["written"] == 3
    rows = list(csv.DictReader(file.open(newline="")))
    assert [row["gold_text"] for row in rows if row["gold_label"] == "CITY"] == ["Torino"]
    assert Event.objects.get(verb="file.downloaded").actor == read.rev
    assert run("score_errors", *RUN, "--write", file, "--by", "rev") == "path"
    assert run("score_errors", *RUN, "--write", tmp_path / "b.csv", "--by", "vic") == "access"


def test_names_that_are_hidden_can_not_be_scored(read):
    read.project.anonymous_adjudication = True
    read.project.save()
    assert run("score_errors", "--author", "annotator:ann", "--by", "rev") == "author"
