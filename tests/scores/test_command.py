"""The score command: the page's figures, of the same function."""

import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.db.models import F

from annotations.gold.services.making import freeze
from annotations.models import AnnotationSet, Span
from annotations.scores.services.scoring import score, score_request
from tests import factories as make
from tests.held import fresh

pytestmark = pytest.mark.django_db


def build_project():
    project = make.make_project("p")
    note = make.make_note(project, "Mario Rossi, 54 anni")
    for kind, spans in (("gold", [(0, 11, "PATIENT"), (13, 15, "AGE")]), ("run", [(0, 11, "PATIENT")])):
        make.make_set(note, make.make_author(project, kind=kind, name=kind), spans, submitted=True)
    return project


@pytest.fixture(scope="module")
def made_project(once):
    return once(build_project)


@pytest.fixture
def project(made_project, db):
    return fresh(made_project, build_project)


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
        assert (printed.pop("masking_threshold"), printed.pop("notes_learned_from")) == (None, 0)
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
    assert "Notes with a missed span: 1 of 1, 100%" in said


def test_fully_masked_notes_by_label(project):
    """Both labels have gold in the one note; the run covers the patient only."""
    said = run("p", "--author", "run").splitlines()
    at = said.index("Fully masked notes by label:")
    assert said[at + 1 : at + 3] == [
        "  PATIENT: 1 of 1, 100% (95% interval 2% to 100%)",
        "  AGE: 0 of 1, 0% (95% interval 0% to 98%)",
    ]
    labels = {row["label"]: row["fully_masked"] for row in json.loads(run("p", "--author", "run", "--json"))["labels"]}
    assert labels["PATIENT"] == {"notes": 1, "all_found": 1, "share": 1.0, "low": pytest.approx(0.025), "high": 1.0}
    assert (labels["AGE"]["share"], labels["AGE"]["high"]) == (0.0, pytest.approx(0.975))


@pytest.mark.parametrize("gold", ["latest", "-1", "0", "9" * 30, "7"])
def test_versions_that_are_not_there(project, gold):
    with pytest.raises(CommandError, match=r"version|current"):
        run("p", f"--gold={gold}", "--author", "run")


def make_ages():
    """A run finds the name, but of the two numbers only the age; gold has a town that the run calls a hospital."""
    project = make.make_project("a")
    note = make.make_note(project, "Mario Rossi, 5 anni, stanza 15, Torino")
    gold = [(0, 11, "PATIENT"), (13, 14, "AGE"), (32, 38, "CITY")]
    found = [(0, 7, "PATIENT"), (13, 14, "AGE"), (32, 38, "HOSPITAL")]
    for kind, spans in (("gold", gold), ("run", found)):
        make.make_set(note, make.make_author(project, kind=kind, name=kind), spans, submitted=True)
    return project


@pytest.fixture(scope="module")
def made_ages(once):
    return once(make_ages)


@pytest.fixture
def ages(made_ages, db):
    return fresh(made_ages, make_ages)


def test_macro_averages_with_their_standard_deviation(ages):
    said = run("a", "--author", "run", "--unit", "entity", "--level", "subcategory").splitlines()
    # PATIENT 0/1, AGE 1/1, CITY never predicted, HOSPITAL 0/1; recall of the three labels in gold.
    spread = "(standard deviation 0.4714)"
    assert f"  Macro average: precision 0.2500 (standard deviation 0.4330) · recall 0.3333 {spread} · F1 0.2857" in said
    assert f"  Weighted average: precision 0.3333 {spread} · recall 0.3333 {spread} · F1 0.3333" in said


def test_the_plain_substring_rule_with_published_figures(ages):
    tokens = run("a", "--author", "run")
    assert "Rewritten text: precision 0.7500 · recall 1.0000" in tokens
    assert "Published F1 by this rule" not in tokens
    said = run("a", "--author", "run", "--counting", "substring").splitlines()
    # The rewritten text is "[PATIENT]ossi, [AGE] anni, stanza 15, [HOSPITAL]". The 5 of the room is still there.
    counts = "(3 removed, 1 remaining, 1 extra)"
    assert f"Rewritten text, counted by substring: precision 0.7500 · recall 0.7500 · F1 0.7500 {counts}" in said
    assert "  AGE: F1 0.6667" in said
    source = "Miranda et al. 2025, table 2, as far as section 4.4 repeats it"
    assert f"  Published F1 by this rule, CLinkaRT, 80 clinical cases (Italian) ({source}):" in said
    assert "    gemma3 12b: NAME 0.81 · LOCATION/ADDRESS 0.88 · DATE 0.65" in said
    printed = json.loads(run("a", "--author", "run", "--json"))
    assert (printed["rewritten"]["micro"]["fn"], printed["rewritten_substring"]["micro"]["fn"]) == (0, 1)


def test_all_or_nothing_with_tolerance_and_of_chosen_labels(ages):
    said = run("a", "--author", "run").splitlines()
    assert "Text and position (similarity 0.6), any label: precision 1.0000 · recall 1.0000 · F1 1.0000" in said
    assert "  Text and position, any label: 1 of 1, 100%" in said
    assert "  Text and position, same label: 0 of 1, 0%" in said
    assert not [line for line in said if line.startswith("Notes with all spans of")]
    strict = run("a", "--author", "run", "--threshold", "0.7").splitlines()
    assert "  Text and position, any label: 0 of 1, 0%" in strict
    some = run("a", "--author", "run", "--threshold", "0.7", "--types", "AGE, label:CITY").splitlines()
    at = some.index("Notes with all spans of CITY, AGE found:")
    assert some[at + 2 : at + 4] == [
        "  Text and position, any label: 1 of 1, 100%",
        "  Text and position, same label: 0 of 1, 0%",
    ]
    # C2 is the category of cities and hospitals.
    printed = json.loads(run("a", "--author", "run", "--types", "category:C2", "--json"))
    assert printed["all_or_nothing_chosen"]["labels"] == ["CITY", "HOSPITAL"]
    assert printed["all_or_nothing_chosen"]["found"]["tolerant_any"] == {"all_found": 1, "notes": 1, "share": 1.0}


@pytest.mark.parametrize(
    "words, reason",
    [
        (("--threshold", "2"), "similarity “2” must be a number from 0 to 1, such as 0.6"),
        (("--threshold", "0,6"), "similarity “0,6” must be"),
        (("--threshold", "nan"), "similarity “nan” must be"),
        (("--types", "TOWN"), "no label or category “TOWN”. Categories: C0, C1, C2, C3. Labels: PATIENT, DOCTOR"),
        (("--types", "category:AGE"), "no label or category “category:AGE”"),
    ],
)
def test_choices_that_don_t_exist(ages, words, reason):
    with pytest.raises(CommandError, match=reason):
        run("a", "--author", "run", *words)


def test_attributes_on_request(project):
    label = make.label_of(project, "PATIENT")
    label.attributes = [{"name": "Family"}, {"name": "Status", "values": ["current", "past"]}]
    label.save()
    Span.objects.filter(label=label, annotation_set__author__kind="gold").update(attributes={"Status": "past"})
    Span.objects.filter(label=label, annotation_set__author__kind="run").update(attributes={"Status": "current"})
    assert "Attributes" not in run("p", "--author", "run")
    said = run("p", "--author", "run", "--attributes")
    assert "  Family: 1 of 1, 100%; 0 of 0\n  Status: 0 of 1, 0%; 0 of 1, 0%\n" in said
    freeze(project=project, actor=None)
    Span.objects.filter(annotation_set__author__kind="run").update(attributes={"Status": "past"})
    AnnotationSet.objects.update(version=F("version") + 1)
    rows = json.loads(run("p", "--author", "run", "--gold", "1", "--json"))["attributes"]
    assert [(row["attribute"], row["share"], row["given_share"]) for row in rows] == [
        ("Family", 1.0, None), ("Status", 1.0, 1.0),
    ]  # fmt: skip


def test_without_attributes(project):
    assert "Attributes: none of the matched spans has any." in run("p", "--author", "run", "--attributes")
