"""Capture-recapture: how much readers miss, by hand and on readers whose misses are known."""

import random

import pytest

from annotations.domain.agreement import NoteReadings, Setup, Unit, figures
from annotations.domain.agreement.capture import Captures, Matching, found_in, histories
from annotations.domain.spans import Span


def note(number=1, **readings):
    return NoteReadings("x" * 500, {n: [Span(a, b, "X") for a, b in places] for n, places in readings.items()}, number)


def found(*notes, matching=Matching.OVERLAP):
    captures = Captures()
    for each in notes:
        captures.add(each, sorted(each.readings))
    return found_in(captures.groups[matching])


def test_who_found_what():
    """Spans that hang together count as one by overlap; touching ones don't hang together."""
    readings = {"a": [Span(0, 5, "X"), Span(8, 9, "X")], "b": [Span(4, 8, "Y")], "c": [Span(0, 5, "Z")]}
    assert histories(readings, ["a", "b", "c"]) == {
        Matching.OVERLAP: [0b111, 0b001],
        Matching.EXACT: [0b101, 0b001, 0b010],
    }


def test_two_readers_chapman():
    """a finds 4, b finds 3, two of them the same: (4+1)(3+1)/(2+1) - 1 = 17/3; found 5, hidden 2/3."""
    places = [(10 * n, 10 * n + 5) for n in range(5)]
    result = found(note(a=places[:4], b=places[2:]))
    assert result.known == 5
    assert result.hidden == pytest.approx(17 / 3 - 5)
    assert result.recall(1).value == pytest.approx((4 + 3) / 2 / (17 / 3))
    assert result.recall(2).value == pytest.approx(5 / (17 / 3))
    assert result.recall_of("a").value == pytest.approx(4 / (17 / 3))
    assert result.projected_for(3)
    assert result.recall(3).value == pytest.approx(1 - (1 - 5 * 3 / 17) * (1 - 3.5 * 3 / 17))


def test_three_readers_chao():
    """Alone: a 2, b 1, c 1; by two: 3; by all: 4. Hidden (2·1 + 2·1 + 1·1) / (3 + 1) = 1.25."""
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


def test_notes_are_grouped_by_who_read_them():
    places = [(10 * n, 10 * n + 5) for n in range(5)]
    one, other = note(a=places[:4], b=places[2:]), note(2, b=places[:4], c=places[2:])
    both = found(one, other)
    assert both.hidden == pytest.approx(2 * found(one).hidden)
    assert both.recall(1).value == pytest.approx(found(one).recall(1).value)
    assert both.recall_of("b").value == pytest.approx((3 + 4) / (2 * 17 / 3))


def test_undefined_says_why():
    assert "submitted by two annotators" in found().recall(1).why, "a single reader may well have marked something"
    assert "nobody marked anything" in found(note(a=[], b=[])).recall(1).why
    assert "nothing was found by two readers" in found(note(a=[(0, 1)], b=[(5, 6)])).recall(2).why
    assert "nobody marked" in found(note(a=[(0, 1)], b=[(0, 1)])).recall_of("z").why


def test_readers_whose_misses_are_known():
    """2,000 spans in 100 notes, found with 0.95, 0.9 and 0.92 independently; a fourth reads half of the notes."""
    chance = random.Random(3)
    thorough = {"a": 0.95, "b": 0.9, "c": 0.92, "d": 0.85}
    notes = []
    for number in range(100):
        readers = "abc" if number % 2 else "bd"
        places = [Span(20 * n, 20 * n + 9, "X") for n in range(20)]
        readings = {reader: [p for p in places if chance.random() < thorough[reader]] for reader in readers}
        notes.append(NoteReadings("palabra de " * 40, readings, number))
    recall = figures(notes, Setup(list("abcd"), ["X"], {"X": "X"}), Unit.ENTITY)["recall"]
    for matching in Matching:  # the places are the same, so the ways to match are
        result = recall[matching]
        assert result["found"] + result["hidden"] == pytest.approx(2000, rel=0.005)
        for row, truth in zip(result["each"], thorough.values(), strict=True):
            assert row["value"] == pytest.approx(truth, abs=0.03)
            assert row["low"] <= truth <= row["high"]
        one, two, three = result["readers"]
        assert one["low"] < one["value"] < one["high"] < two["low"] < two["value"] < three["value"] <= 1
        assert one["value"] == pytest.approx((0.95 + 0.9 + 0.92) / 3 / 2 + (0.9 + 0.85) / 4, abs=0.01)
        assert not three["projected"]
