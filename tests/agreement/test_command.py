"""The agreement command: the figures, and the annotation sets that count."""

import pytest

from annotations.agreement.rules.coefficients import NEITHER_MARKED, NOTHING_MARKED
from annotations.models import Role, Span
from tests.factories import make_member, make_note, make_project, make_set
from tests.held import made_once
from tests.worlds.commands import answered

pytestmark = pytest.mark.django_db


def run(*words):
    return answered("agreement", *words)


def build_project():
    """Catelli 2021, table 3.4, first row: Uomo di 60 anni; two mark 60, one marks 60 anni."""
    project = make_project("p")
    note = make_note(project, "Uomo di 60 anni")
    for name, end in (("anna", 10), ("bruno", 10), ("carla", 15)):
        make_set(note, make_member(project, Role.ANNOTATOR, name), [(8, end, "AGE")], submitted=True)
    return project


made, project = made_once(build_project)


def test_the_figures(project):
    result = run("p", "--unit", "token", "--granularity", "subcategory")
    assert result["observed"]["value"] == pytest.approx((1 + 1 + 1 + 1 / 3) / 4)
    # Coincidences by hand: n = 12, O 8, AGE 4; Do = 2/12, De = 1 - (56 + 12)/132.
    assert result["alpha"]["value"] == pytest.approx(1 - (2 / 12) / (1 - 68 / 132))
    assert (result["units"], len(result["annotators"]), result["notes"]) == (4, 3, 1)


def test_drafts_are_missing_and_sets_that_were_not_blind_or_seeded_are_left_out_and_counted(project):
    note = make_note(project, "Mario Rossi", name="other")
    make_set(note, make_member(project), [(0, 11, "PATIENT")])
    make_set(note, make_member(project), [(0, 11, "PATIENT")], submitted=True, blind=False)
    make_set(note, make_member(project), [(0, 11, "PATIENT")], submitted=True, seeded=True)
    result = run("p")
    assert (result["notes"], result["left_out"]) == (1, {"not_blind": 1, "seeded": 1, "drafts": 1})


@pytest.mark.parametrize("unit", ["marked", "entity"])
def test_two_empty_submitted_sets_are_no_missing_notes(project, unit):
    for name in ("anna", "bruno", "carla"):
        Span.objects.filter(annotation_set__author__name=name).delete()
    result = run("p", "--unit", unit, "--per", "note")
    assert (result["notes"], result["observed"]["value"], result["units"]) == (1, None, 0)
    assert result["alpha"]["why"] == result["fleiss"]["why"] == result["per_note"][0]["why"] == NOTHING_MARKED
    assert {row["kappa"]["why"] for row in result["pairs"]} == {NEITHER_MARKED}


def test_undefined_says_why():
    make_project("empty")
    result = run("empty")
    assert (result["observed"]["value"], result["alpha"]["value"], result["units"]) == (None, None, 0)
    assert "No note has been submitted by two annotators" in result["alpha"]["why"]
