"""Caught errors and collateral, on worked notes."""

import pytest

from annotations.text.spans import Span
from models_runtime.refining.rules.injection import Caught, Injection, Strategy

GOLD = [Span(0, 5, "DOCTOR"), Span(10, 15, "CITY"), Span(20, 24, "AGE"), Span(30, 40, "DATE")]
ERRORS = [
    Injection(0, 5, "PATIENT", "DOCTOR", "patient-doctor"),
    Injection(50, 53, "HOSPITAL", "", "wards-as-hospital"),
    Injection(60, 64, "PATIENT", "", "eponyms"),
    Injection(20, 24, "DATE", "AGE", "age-date", Strategy.LOG),
]
INJECTED = [Span(one.start, one.end, one.label) for one in ERRORS] + GOLD[1:2] + GOLD[3:]


def caught(refined):
    found = Caught()
    found.add(GOLD, ERRORS, refined)
    return found.as_json()


def test_nothing_changed():
    figures = caught(INJECTED)
    assert (figures["injected"], figures["caught"], figures["lost"]) == (4, 0, 0)
    assert (figures["untouched"], figures["collateral"]) == (2, 0)


def test_everything_caught():
    figures = caught(GOLD)
    assert (figures["injected"], figures["caught"], figures["collateral"]) == (4, 4, 0)
    assert figures["by_rule"]["age-date"]["share"] == 1.0
    assert {key: each["caught"] for key, each in figures["by_strategy"].items()} == {"log": 1, "rule": 3}
    assert figures["by_strategy"]["log"]["interval"] == (pytest.approx(0.025), 1.0)


def test_a_changed_end_is_not_a_removal():
    """A spurious span that only became shorter is still there; a relabeled one counts by its label."""
    figures = caught([Span(51, 53, "HOSPITAL"), Span(0, 4, "DOCTOR"), Span(10, 14, "CITY"), Span(30, 40, "DATE")])
    by_rule = {rule: each["caught"] for rule, each in figures["by_rule"].items()}
    assert by_rule == {"patient-doctor": 1, "age-date": 0, "wards-as-hospital": 0, "eponyms": 1}
    assert (figures["lost"], figures["collateral"]) == (1, 1)
    # A removed identifier is lost and not caught.
    figures = caught([])
    assert (figures["caught"], figures["lost"]) == (2, 2)
    assert (figures["collateral"], figures["collateral_share"]) == (2, 1.0)
    figures = caught([Span(0, 100, "OTHER")])
    assert (figures["caught"], figures["lost"], figures["collateral"]) == (0, 0, 2)


def test_published_intervals_and_empty_counts():
    found = Caught()
    for at in range(2779 + 28):
        found.errors.add(at < 2779)
    published = (0.9900, 0.98562, 0.99336)
    assert (found.errors.value, *found.errors.interval()) == pytest.approx(published, abs=5e-5)
    assert (Caught().errors.value, Caught().errors.interval()) == (None, None)
