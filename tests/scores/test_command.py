"""The score command: the page's figures, of the same function."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotations.gold.services.making import freeze
from annotations.scores.services.scoring import score, score_request
from tests import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def project():
    project = make.make_project("p")
    note = make.make_note(project, "Mario Rossi, 54 anni")
    for kind, spans in (("gold", [(0, 11, "PATIENT"), (13, 15, "AGE")]), ("run", [(0, 11, "PATIENT")])):
        make.make_set(note, make.make_author(project, kind=kind, name=kind), spans, submitted=True)
    return project


def run(*args):
    out = io.StringIO()
    call_command("score", *args, stdout=out)
    return out.getvalue()


def test_the_same_numbers_from_the_same_function(project):
    freeze(project=project, actor=None)
    for gold, version in (("current", 0), ("1", 1)):
        printed = json.loads(run("p", "--gold", gold, "--author", "run", "--json"))
        table = score(score_request(project, version=version, author="run")).table
        del printed["errors_by_category"]
        assert printed == json.loads(json.dumps(table))


def test_one_level(project):
    printed = json.loads(run("p", "--author", "run", "--level", "binary", "--unit", "token", "--json"))
    (level,) = printed["levels"]
    assert (level["unit"], level["granularity"]) == ("token", "binary")
    assert level["micro"]["recall"] == pytest.approx(2 / 3)


def test_in_words(project):
    said = run("p", "--author", "run")
    assert "run against gold current on 1 notes" in said
    assert "Spans, by label: precision 1.0000 · recall 0.5000 · F1 0.6667" in said
    assert "Rewritten text: precision 1.0000 · recall 0.5000 · F1 0.6667 (1 removed, 1 remaining, 0 extra)" in said
    assert "Notes with a missed span: 1 of 1, 100.0%" in said


@pytest.mark.parametrize("gold", ["latest", "-1", "0", "9" * 30, "7"])
def test_versions_that_are_not_there(project, gold):
    with pytest.raises(CommandError, match=r"version|current"):
        run("p", f"--gold={gold}", "--author", "run")
