"""Errors by category: what identifies an error, its causes, and shares of false positives and negatives."""

import pytest

from annotations.scores.rules import Scorer
from annotations.scores.rules.causes import ErrorId, category_shares, counts_by_category
from annotations.text.spans import Span

CATEGORY_OF = {"CITY": "LOCATION", "STATE": "LOCATION", "DATE": "DATE", "FAX": "CONTACT"}
# Catelli 2021, table 4.9, errors of the types DATE, LOCATION: CITY and LOCATION: STATE.
TEXT = "on HD Mon, We d, Fri s/p. cc: Dirk O. Reece, M.D., PCP, Pune, ME SRH"
DAYS, PUNE, ME = (6, 20, "DATE"), (56, 60, "CITY"), (62, 64, "STATE")


def scored(gold, predicted):
    scorer = Scorer(list(CATEGORY_OF), CATEGORY_OF)
    errors = scorer.add(TEXT, [Span(*one) for one in gold], [Span(*one) for one in predicted])
    rows = [(7, str(error.kind), error.gold, error.predicted) for error in errors]
    return rows, scorer.table()


def test_an_error_is_its_note_and_its_two_spans():
    row = (7, "boundary", [6, 20, "DATE"], [6, 9, "DATE"])
    assert ErrorId.of(row) == ErrorId(7, DAYS, (6, 9, "DATE")), "spans are lists after they were stored"
    assert str(ErrorId.of(row)) == "7:6-20-DATE:6-9-DATE"
    assert str(ErrorId(7, None, PUNE)) == "7::56-60-CITY"
    assert ErrorId(7, ME, PUNE).label == "STATE" and ErrorId(7, None, PUNE).label == "CITY"


def test_causes_by_category_as_in_table_4_9():
    """The days have AB and AM, the city AM, the state nothing yet."""
    rows, _table = scored([DAYS, PUNE, ME], [(6, 9, "DATE")])
    causes = {ErrorId(7, DAYS, (6, 9, "DATE")): {"AB", "AM"}, ErrorId(7, PUNE, None): {"AM"},
              ErrorId(9, PUNE, None): {"D"}}  # fmt: skip
    by_category, total = counts_by_category(rows, causes, CATEGORY_OF, ["AB", "AM"])
    assert by_category == {
        "DATE": {"errors": 1, "causes": {"AB": 1, "AM": 1}, "without_cause": 0},
        "LOCATION": {"errors": 2, "causes": {"AB": 0, "AM": 1}, "without_cause": 1},
    }
    assert total == {"errors": 3, "causes": {"AB": 1, "AM": 2}, "without_cause": 1}


def test_shares_of_errors_and_tokens_per_span():
    """Gold tokens: Mon , We d , Fri are 6; Pune and ME one each."""
    _rows, table = scored([DAYS, PUNE, ME], [(6, 9, "DATE"), (56, 60, "STATE"), (62, 64, "FAX")])
    found = {row["category"]: row for row in category_shares(table["levels"], table["labels"])}
    entity = {name: (row["entity"]["spurious"], row["entity"]["missed"]) for name, row in found.items()}
    assert entity == {"LOCATION": (0, 1), "DATE": (1, 1), "CONTACT": (1, 0)}, "a city taken for a state is a location"
    assert found["DATE"]["entity"]["spurious_share"] == found["DATE"]["entity"]["missed_share"] == 0.5
    assert found["DATE"]["token"]["missed"] == 5
    assert found["DATE"]["token"]["missed_share"] == pytest.approx(5 / 6)
    assert found["DATE"]["token"]["spurious_share"] == 0
    ratios = {name: row["tokens_per_span"] for name, row in found.items()}
    assert ratios == {"LOCATION": 1.0, "DATE": 6.0, "CONTACT": None}


def test_the_ratio_of_a_category_weights_its_labels_by_their_spans():
    _rows, table = scored([PUNE, (30, 43, "CITY"), ME], [])
    (row,) = category_shares(table["levels"], table["labels"])
    assert row["tokens_per_span"] == pytest.approx((1 + 4 + 1) / 3), "Dirk O . Reece are 4 tokens"


def test_shares_are_undefined_without_errors():
    _rows, table = scored([PUNE], [PUNE])
    (row,) = category_shares(table["levels"], table["labels"])
    nothing = {"spurious": 0, "spurious_share": None, "missed": 0, "missed_share": None}
    assert row["entity"] == row["token"] == nothing
