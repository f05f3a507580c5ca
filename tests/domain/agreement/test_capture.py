"""Capture-recapture: examples by hand, and simulated annotators with a known recall."""

import random

import pytest

from annotations.domain.agreement import NoteAnnotationSets, Setup, Unit, figures
from annotations.domain.agreement.capture import Captures, Matching, found_in, histories
from annotations.domain.spans import Span


def note(number=1, **annotation_sets):
    return NoteAnnotationSets(
        "x" * 500, {n: [Span(a, b, "X") for a, b in bounds] for n, bounds in annotation_sets.items()}, number
    )


def found(*notes, matching=Matching.OVERLAP):
    captures = Captures()
    for each in notes:
        captures.add(each, sorted(each.annotation_sets))
    return found_in(captures.groups[matching])


def test_who_found_what():
    """With OVERLAP, a chain of overlapping spans counts as one; touching spans are separate."""
    annotation_sets = {"a": [Span(0, 5, "X"), Span(8, 9, "X")], "b": [Span(4, 8, "Y")], "c": [Span(0, 5, "Z")]}
    assert histories(annotation_sets, ["a", "b", "c"]) == {
        Matching.OVERLAP: [0b111, 0b001],
        Matching.EXACT: [0b101, 0b001, 0b010],
    }


def test_two_annotators_chapman():
    """a finds 4, b finds 3, and 2 of them are the same: (4+1)(3+1)/(2+1) - 1 = 17/3; found 5, hidden 2/3."""
    bounds = [(10 * n, 10 * n + 5) for n in range(5)]
    result = found(note(a=bounds[:4], b=bounds[2:]))
    assert result.known == 5
    assert result.hidden == pytest.approx(17 / 3 - 5)
    assert result.recall(1).value == pytest.approx((4 + 3) / 2 / (17 / 3))
    assert result.recall(2).value == pytest.approx(5 / (17 / 3))
    assert result.recall_of("a").value == pytest.approx(4 / (17 / 3))
    assert result.projected_for(3)
    assert result.recall(3).value == pytest.approx(1 - (1 - 5 * 3 / 17) * (1 - 3.5 * 3 / 17))


def test_three_annotators_chao():
    """Found alone: a 2, b 1, c 1; by two: 3; by all: 4. Hidden: (2·1 + 2·1 + 1·1) / (3 + 1) = 1.25."""
    at = [(10 * n, 10 * n + 5) for n in range(11)]
    a, b, c = [at[0], at[1]], [at[2]], [at[3]]
    a += [at[4], at[5], *at[7:]]
    b += [at[4], at[6], *at[7:]]
    c += [at[5], at[6], *at[7:]]
    result = found(note(a=a, b=b, c=c))
    assert (result.known, result.hidden) == (11, 1.25)
    assert result.recall(1).value == pytest.approx((8 + 7 + 7) / 3 / 12.25)
    assert result.recall(2).value == pytest.approx(((11 - 1) + (11 - 1) + (11 - 2)) / 3 / 12.25)
    assert result.recall(3).value == pytest.approx(11 / 12.25)


def test_notes_are_grouped_by_their_annotators():
    bounds = [(10 * n, 10 * n + 5) for n in range(5)]
    one, other = note(a=bounds[:4], b=bounds[2:]), note(2, b=bounds[:4], c=bounds[2:])
    both = found(one, other)
    assert both.hidden == pytest.approx(2 * found(one).hidden)
    assert both.recall(1).value == pytest.approx(found(one).recall(1).value)
    assert both.recall_of("b").value == pytest.approx((3 + 4) / (2 * 17 / 3))


def test_undefined_figures_have_a_reason():
    assert "submitted by two annotators" in found().recall(1).why, "a single annotator may have marked something"
    assert "Nobody marked anything" in found(note(a=[], b=[])).recall(1).why
    assert "No span was found by two annotators" in found(note(a=[(0, 1)], b=[(5, 6)])).recall(2).why
    assert "Nobody marked" in found(note(a=[(0, 1)], b=[(0, 1)])).recall_of("z").why


def test_annotators_with_a_known_recall():
    """2,000 spans in 100 notes, which are found independently; b has all notes, the others have half of them each."""
    chance = random.Random(3)
    thorough = {"a": 0.95, "b": 0.9, "c": 0.92, "d": 0.85}
    notes = []
    for number in range(100):
        names = "abc" if number % 2 else "bd"
        spans = [Span(20 * n, 20 * n + 9, "X") for n in range(20)]
        annotation_sets = {name: [span for span in spans if chance.random() < thorough[name]] for name in names}
        notes.append(NoteAnnotationSets("palabra de " * 40, annotation_sets, number))
    recall = figures(notes, Setup(list("abcd"), ["X"], {"X": "X"}), Unit.ENTITY)["recall"]
    for matching in Matching:  # all bounds are equal, so both ways of matching give the same figures
        result = recall[matching]
        assert result["found"] + result["hidden"] == pytest.approx(2000, rel=0.005)
        for row, truth in zip(result["each"], thorough.values(), strict=True):
            assert row["value"] == pytest.approx(truth, abs=0.03)
            assert row["low"] <= truth <= row["high"]
        one, two, three = result["annotators"]
        assert one["low"] < one["value"] < one["high"] < two["low"] < two["value"] < three["value"] <= 1
        assert one["value"] == pytest.approx((0.95 + 0.9 + 0.92) / 3 / 2 + (0.9 + 0.85) / 4, abs=0.01)
        assert not three["projected"]
