"""Which tests a change can break, and what a run says about the cost of files."""

import pytest

from tests.affected import affected_by
from tests.costs import BUDGET, FileCost, above_budget, summary

reads_all = pytest.mark.nightly  # It takes 9 s to read the imports of all files.


@reads_all
def test_a_changed_format_is_seen_by_its_tests_and_by_those_of_import_and_export():
    seen = affected_by(["annotations/domain/formats/brat.py"])
    assert "tests/domain/formats/test_brat.py" in seen
    assert "tests/transfer/test_every_format.py" in seen
    assert "tests/accounts/test_members.py" not in seen


@reads_all
def test_a_template_is_seen_by_the_tests_of_its_feature():
    seen = affected_by(["templates/gold/version.html"])
    assert "tests/gold/test_making.py" in seen
    assert not [name for name in seen if "gold" not in name]


@reads_all
def test_a_changed_test_helper_is_seen_by_the_tests_that_import_it():
    seen = affected_by(["tests/timing.py"])
    assert "tests/backends/test_rules_contract.py" in seen
    assert "tests/gold/test_making.py" not in seen


def test_a_file_above_its_budget_is_named_with_the_seconds_of_all_parts():
    costs = [
        FileCost("tests/gold/test_making.py", "first", 10, BUDGET - 1, 50),
        FileCost("tests/gold/test_making.py", "second", 10, 2, 50),
        FileCost("tests/gold/test_views.py", "first", 10, BUDGET, 500),
    ]
    [line] = above_budget(costs)
    assert line.startswith(f"tests/gold/test_making.py took {BUDGET + 1:.0f} s")
    assert f"tests/gold {2 * BUDGET + 1:.0f} s" in summary(costs)[-1]
