"""The score command: the page's figures, of the same function."""

import pytest
from django.db.models import F

from annotations.gold.services.making import freeze
from annotations.models import AnnotationSet, Span
from tests import factories as make
from tests.held import made_once
from tests.worlds.commands import answered, printed


def build_project():
    project = make.make_project("p")
    note = make.make_note(project, "Mario Rossi, 54 anni")
    for kind, spans in (("gold", [(0, 11, "PATIENT"), (13, 15, "AGE")]), ("run", [(0, 11, "PATIENT")])):
        make.make_set(note, make.make_author(project, kind=kind, name=kind), spans, submitted=True)
    return project


made, project = made_once(build_project)
REWRITTEN = ("rewritten", "rewritten_substring")


def figures(*words):
    return answered("score", *words, "--author", "run")


def test_one_level_and_the_versions_of_gold(project):
    freeze(project=project, actor=None)
    assert [figures("p", "--gold", gold)["gold"] for gold in ("current", "1")] == ["current", "1"]
    (level,) = figures("p", "--level", "binary", "--unit", "token")["levels"]
    assert (level["unit"], level["granularity"]) == ("token", "binary")
    assert level["micro"]["recall"] == pytest.approx(2 / 3)
    for gold in ("latest", "-1", "0", "9" * 30, "7"):
        assert figures("p", f"--gold={gold}") == "version"


def test_fully_masked_notes_have_intervals(project):
    """Both labels have gold in the one note; the run covers the patient only."""
    assert "fully_masked: all_found 1, share 1.0" in printed("score", "p", "--author", "run")
    labels = {row["label"]: row["fully_masked"] for row in figures("p")["labels"]}
    assert labels["PATIENT"] == {"notes": 1, "all_found": 1, "share": 1.0, "low": pytest.approx(0.025), "high": 1.0}
    assert (labels["AGE"]["share"], labels["AGE"]["high"]) == (0.0, pytest.approx(0.975))


@pytest.fixture
def ages(db):
    """A run finds the name, but of the two numbers only the age; gold has a town that the run calls a hospital."""
    project = make.make_project("a")
    note = make.make_note(project, "Mario Rossi, 5 anni, stanza 15, Torino")
    gold = [(0, 11, "PATIENT"), (13, 14, "AGE"), (32, 38, "CITY")]
    found = [(0, 7, "PATIENT"), (13, 14, "AGE"), (32, 38, "HOSPITAL")]
    for kind, spans in (("gold", gold), ("run", found)):
        make.make_set(note, make.make_author(project, kind=kind, name=kind), spans, submitted=True)


def test_the_plain_substring_rule_with_published_figures(ages):
    """The rewritten text is "[PATIENT]ossi, [AGE] anni, stanza 15, [HOSPITAL]": the 5 of the room is still there."""
    found = figures("a")
    rates = [[found[name]["micro"][rate] for rate in ("precision", "recall", "f1", "fn")] for name in REWRITTEN]
    assert rates == [[0.75, 1, pytest.approx(6 / 7), 0], [0.75, 0.75, 0.75, 1]]
    for words, published in (((), False), (("--counting", "substring"), True)):
        said = printed("score", "a", *words, "--author", "run")
        assert ["published, " in said, *(f"{name}:" in said for name in REWRITTEN)] == [
            published,
            not published,
            published,
        ]


def test_all_or_nothing_with_tolerance_and_of_chosen_labels(ages):
    def found(*words, of="all_or_nothing_chosen"):
        """How many notes have all spans, with any label and with the same one, and which labels were chosen."""
        chosen = figures("a", *words)[of]
        rates = chosen.get("found", chosen)
        return [rates[name]["all_found"] for name in ("tolerant_any", "tolerant")], chosen.get("labels")

    assert found(of="all_or_nothing") == ([1, 0], None)
    assert found("--threshold", "0.7", of="all_or_nothing") == ([0, 0], None)
    assert found("--threshold", "0.7", "--types", "AGE, label:CITY") == ([1, 0], ["CITY", "AGE"])
    # C2 is the category of cities and hospitals.
    assert found("--types", "category:C2") == ([1, 0], ["CITY", "HOSPITAL"])
    assert figures("a", "--threshold", "2") == "threshold" and figures("a", "--types", "TOWN") == "types"


def test_attributes_on_request(project):
    label = make.label_of(project, "PATIENT")
    make.change(label, attributes=[{"name": "Family"}, {"name": "Status", "values": ["current", "past"]}])
    spans = Span.objects.filter(label=label)
    spans.filter(annotation_set__author__kind="gold").update(attributes={"Status": "past"})
    spans.filter(annotation_set__author__kind="run").update(attributes={"Status": "current"})
    AnnotationSet.objects.update(version=F("version") + 1)
    for words in ((), ("--attributes",)):
        assert ("Status" in printed("score", "p", "--author", "run", *words)) == bool(words)
    assert _attributes(figures("p")) == [("Family", 1.0, None), ("Status", 0.0, 0.0)]
    freeze(project=project, actor=None)
    spans.update(attributes={"Status": "past"})
    AnnotationSet.objects.update(version=F("version") + 1)
    assert _attributes(figures("p", "--gold", "1")) == [("Family", 1.0, None), ("Status", 1.0, 1.0)]


def _attributes(found):
    return [(row["attribute"], row["share"], row["given_share"]) for row in found["attributes"]]
