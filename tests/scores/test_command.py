"""The score command: the page's figures, of the same function."""

import pytest
from django.core.management import CommandError
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


def run(*words):
    return printed("score", *words, "--author", "run").splitlines()


def figures(*words):
    return answered("score", *words, "--author", "run")


def test_one_level_and_the_versions_of_gold(project):
    freeze(project=project, actor=None)
    assert [figures("p", "--gold", gold)["gold"] for gold in ("current", "1")] == ["current", "1"]
    (level,) = figures("p", "--level", "binary", "--unit", "token")["levels"]
    assert (level["unit"], level["granularity"]) == ("token", "binary")
    assert level["micro"]["recall"] == pytest.approx(2 / 3)
    for gold in ("latest", "-1", "0", "9" * 30, "7"):
        with pytest.raises(CommandError, match=r"version|current"):
            run("p", f"--gold={gold}")


def test_in_words(project):
    """Both labels have gold in the one note; the run covers the patient only."""
    said = run("p")
    assert {
        "Spans, by label: precision 1.0000 · recall 0.5000 · F1 0.6667",
        "Rewritten text: precision 1.0000 · recall 0.5000 · F1 0.6667 (1 removed, 1 remaining, 0 extra)",
    } <= set(said)
    assert any("run against gold current on 1 notes" in line for line in said)
    assert any("Notes with a missed span: 1 of 1, 100%" in line for line in said)
    at = said.index("Fully masked notes by label:")
    assert said[at + 1 : at + 3] == [
        "  PATIENT: 1 of 1, 100% (95% interval 2% to 100%)",
        "  AGE: 0 of 1, 0% (95% interval 0% to 98%)",
    ]
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
    tokens = "\n".join(run("a"))
    assert "Rewritten text: precision 0.7500 · recall 1.0000" in tokens
    assert "Published F1 by this rule" not in tokens
    said = run("a", "--counting", "substring")
    # The rewritten text is "[PATIENT]ossi, [AGE] anni, stanza 15, [HOSPITAL]". The 5 of the room is still there.
    counts = "(3 removed, 1 remaining, 1 extra)"
    assert f"Rewritten text, counted by substring: precision 0.7500 · recall 0.7500 · F1 0.7500 {counts}" in said
    assert "  AGE: F1 0.6667" in said
    assert "    gemma3 12b: NAME 0.81 · LOCATION/ADDRESS 0.88 · DATE 0.65" in said
    found = figures("a")
    assert (found["rewritten"]["micro"]["fn"], found["rewritten_substring"]["micro"]["fn"]) == (0, 1)


def test_all_or_nothing_with_tolerance_and_of_chosen_labels(ages):
    any_label, same_label = (
        "  Text and position, any label: {} of 1, {}%",
        "  Text and position, same label: 0 of 1, 0%",
    )
    said = run("a")
    assert "Text and position (similarity 0.6), any label: precision 1.0000 · recall 1.0000 · F1 1.0000" in said
    assert any_label.format(1, 100) in said and same_label in said
    assert not [line for line in said if line.startswith("Notes with all spans of")]
    assert any_label.format(0, 0) in run("a", "--threshold", "0.7")
    some = run("a", "--threshold", "0.7", "--types", "AGE, label:CITY")
    at = some.index("Notes with all spans of CITY, AGE found:")
    assert some[at + 2 : at + 4] == [any_label.format(1, 100), same_label]
    # C2 is the category of cities and hospitals.
    chosen = figures("a", "--types", "category:C2")["all_or_nothing_chosen"]
    assert chosen["labels"] == ["CITY", "HOSPITAL"]
    assert chosen["found"]["tolerant_any"] == {"all_found": 1, "notes": 1, "share": 1.0}
    assert figures("a", "--threshold", "2") == "threshold" and figures("a", "--types", "TOWN") == "types"


def test_attributes_on_request(project):
    assert "Attributes: none of the matched spans has any." in run("p", "--attributes")
    label = make.label_of(project, "PATIENT")
    label.attributes = [{"name": "Family"}, {"name": "Status", "values": ["current", "past"]}]
    label.save()
    spans = Span.objects.filter(label=label)
    spans.filter(annotation_set__author__kind="gold").update(attributes={"Status": "past"})
    spans.filter(annotation_set__author__kind="run").update(attributes={"Status": "current"})
    AnnotationSet.objects.update(version=F("version") + 1)
    assert not any("Attributes" in line for line in run("p"))
    said = run("p", "--attributes")
    assert {"  Family: 1 of 1, 100%; 0 of 0", "  Status: 0 of 1, 0%; 0 of 1, 0%"} <= set(said)
    freeze(project=project, actor=None)
    spans.update(attributes={"Status": "past"})
    AnnotationSet.objects.update(version=F("version") + 1)
    rows = figures("p", "--gold", "1")["attributes"]
    assert [(row["attribute"], row["share"], row["given_share"]) for row in rows] == [
        ("Family", 1.0, None), ("Status", 1.0, 1.0)
    ]  # fmt: skip
