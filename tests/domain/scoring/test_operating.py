"""Masking at several thresholds: recall and precision of characters, leak-free notes, and the choice of a threshold."""

from annotations.domain.scoring.operating import OperatingCurve, for_precision, for_recall, nearest
from annotations.domain.spans import Span

GOLD = [Span(0, 4, "NAME"), Span(10, 14, "CITY")]


def curve():
    found = OperatingCurve([0.1, 0.5])
    # Without a threshold, one name is found; at 0.5 half of the city; at 0.1 all of it, and four other characters.
    at_each = [[Span(0, 4, "NAME")], [Span(0, 4, "NAME"), Span(10, 12, "X")], [Span(0, 4, "A"), Span(10, 18, "B")]]
    found.add(GOLD, at_each)
    found.add([], [[], [], []])
    return found.points()


def test_a_curve_counts_characters_and_notes_whatever_the_labels():
    assert curve() == [
        {"threshold": None, "recall": 0.5, "precision": 1.0, "leak_free": 0.5},
        {"threshold": 0.5, "recall": 0.75, "precision": 1.0, "leak_free": 0.5},
        {"threshold": 0.1, "recall": 1.0, "precision": round(8 / 12, 6), "leak_free": 1.0},
    ]


def test_a_curve_without_notes_has_no_figures():
    assert OperatingCurve([0.5]).points()[1] == {
        "threshold": 0.5, "recall": None, "precision": None, "leak_free": None,
    }  # fmt: skip


def test_a_threshold_is_chosen_for_a_recall_or_a_precision():
    points = curve()
    assert [(found := for_recall(points, wanted)) and found["threshold"] for wanted in (0.7, 0.9)] == [0.5, 0.1]
    assert [(found := for_precision(points, wanted)) and found["threshold"] for wanted in (0.6, 0.9)] == [0.1, 0.5]
    assert for_precision([{**point, "precision": 0.5} for point in points], 0.9) is None
    assert for_recall([{**point, "recall": 0.5} for point in points], 0.9) is None


def test_the_nearest_threshold():
    assert [nearest(curve(), at)["threshold"] for at in (0.01, 0.29, 0.31, 0.9)] == [0.1, 0.1, 0.5, 0.5]
    assert nearest([], 0.1) is None
