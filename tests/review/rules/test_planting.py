"""Planted leaks: which suggestions are drawn, how a review's result is counted, and the estimates that follow."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.review.rules import planting
from annotations.review.rules.planting import Aliases, Candidate, GoldSpan, PlantedCounts, PlantedFate, VisibleNote
from annotations.review.rules.precision import Rate

TEXT = "Mario Rossi, 54 anni, a Torino dal dott. Bianchi. Rossi torna a Torino Nord."
KEY = b"a key"


def at(words, start=0, known="people", pk=0):
    first = TEXT.index(words, start)
    return Candidate(pk or first + 1, first, first + len(words), known)


# ── Drawing ──────────────────────────────────────────────────────────────────────────────────────────────────────────

MANY = [Candidate(n, 10 * n, 10 * n + 5, "runs") for n in range(1, 9)]


def planted(note, candidates=MANY, key=KEY, run=1, share=20):
    return planting.choose(key, run, note, candidates) if planting.is_drawn(key, run, note, share) else []


def test_a_draw_can_be_repeated_and_depends_on_key_and_run():
    drawn = {note: planted(note) for note in range(300)}
    assert drawn == {note: planted(note, list(reversed(MANY))) for note in range(300)}
    assert drawn != {note: planted(note, key=b"another") for note in range(300)}
    assert drawn != {note: planted(note, run=2) for note in range(300)}
    assert not any(planted(note, []) for note in range(100))
    assert not any(planted(note, share=0) for note in range(1_000))
    # Likely identifiers are planted only where none is known.
    likely = [Candidate(n, 10 * n, 10 * n + 5, "string") for n in range(20, 24)]
    assert {one.known for note in range(100) for one in planting.choose(KEY, 1, note, [*likely, *MANY])} == {"runs"}
    assert all(planting.choose(KEY, 1, note, likely) for note in range(100))


def test_about_the_share_of_notes_has_one_or_two():
    counts = [len(planted(note)) for note in range(2_000)]
    assert 340 < sum(map(bool, counts)) < 460
    assert 150 < counts.count(2) < 250 and max(counts) == 2
    few = [len(planted(note, MANY[:5])) for note in range(2_000)]
    assert [bool(n) for n in few] == [bool(n) for n in counts] and max(few) == 1, "two only where there is room"
    chosen = [one.pk for note in range(2_000) for one in planted(note)]
    assert all(45 < chosen.count(one.pk) < 110 for one in MANY), "all about equally often"


def eligible(suggestions, gold):
    page = VisibleNote(TEXT, suggestions, gold)
    return [one for one in suggestions if page.hides(one)]


def test_only_suggestions_that_nothing_on_the_page_gives_away():
    name, age, doctor = at("Mario Rossi"), at("54 anni"), at("Bianchi")
    city, north = at("Torino"), at("Torino Nord")
    again = at("Rossi", 40, pk=99)
    assert eligible([age, doctor], []) == [age, doctor]
    assert eligible([name, again, age], []) == [again, age], "the page shows Rossi in Mario Rossi, not the reverse"
    assert eligible([city, north], []) == [city], "Torino Nord contains Torino"
    assert eligible([age, at("54", pk=98)], []) == [], "another suggestion overlaps it"
    there = GoldSpan(doctor.start, doctor.end + 1)
    assert eligible([age, doctor], [there]) == [age], "gold overlaps it"
    assert eligible([name], [GoldSpan(again.start, again.end)]) == [], "gold elsewhere has some of its words"
    tried = []
    chosen = planting.choose(KEY, 1, 1, [age, doctor], lambda one: tried.append(one) or one is doctor)
    assert chosen == [doctor] and len(tried) <= 2


# ── Found and missed ─────────────────────────────────────────────────────────────────────────────────────────────────


RESULTS = [
    ([], PlantedFate.MISSED, False), ([("54 anni", True)], PlantedFate.MISSED, False),
    ([("Mario Rossi", True)], PlantedFate.FOUND, True), ([("Mario Rossi,", True)], PlantedFate.FOUND, True),
    ([("Mario", True), ("Rossi", True)], PlantedFate.FOUND, True),
    ([("Mari", True), ("Rossi", True)], PlantedFate.FOUND, True),  # a part of a word is enough
    ([("Rossi", True)], PlantedFate.PARTLY, False),
    ([(", ", True)], PlantedFate.MISSED, False),  # touching is not overlapping
    ([("Mario Rossi", False)], PlantedFate.ELSEWHERE, True), ([("Rossi", False)], PlantedFate.ELSEWHERE, False),
    ([("Mario", True), ("Rossi", False)], PlantedFate.FOUND, True),
]  # fmt: skip


@pytest.mark.parametrize(("marked", "result", "whole"), RESULTS)
def test_the_result_of_a_review(marked, result, whole):
    spans = [GoldSpan(TEXT.index(w), TEXT.index(w) + len(w), 1, own) for w, own in marked]
    assert planting.outcome(TEXT, at("Mario Rossi"), spans) == (result, whole)


def test_the_nearest_span_shares_the_most_characters():
    short, wide = GoldSpan(6, 11, 1), GoldSpan(0, 20, 2)
    assert planting.nearest(at("Mario Rossi"), [short, wide]) == wide
    assert planting.nearest(at("Rossi"), [short, wide]) == short, "of two spans that contain it, the shorter one"
    assert planting.nearest(at("54 anni"), [short]) is None


# ── Estimates ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_estimate_of_missed_identifiers():
    assert PlantedCounts(found=16, partly=1, missed=3).rate == Rate(3, 20)
    left = planting.left_over(85, Rate(15, 100))
    assert left is not None and left.expected == pytest.approx(15.0)
    # Wilson: 9.31% to 23.28%
    assert (left.least, left.most) == pytest.approx((85 * 0.0931 / 0.9069, 85 * 0.2328 / 0.7672), rel=0.01)
    assert planting.left_over(85, Rate(3, 19)) is None, "too few"
    assert planting.left_over(0, Rate(20, 20)) is None
    none = planting.left_over(10, Rate(0, 40))
    assert none is not None and none.expected == 0 and none.most > 0


# ── Aliases ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(st.integers(0, 2**52 - 1))
def test_an_alias_is_reversible_and_never_an_id(pk):
    names = Aliases(KEY)
    alias = names.of(pk)
    assert 2**52 <= alias < 2**53, "JavaScript holds it exactly"
    assert names.back(alias) == pk and names.back(pk) == pk
    assert Aliases(b"another").of(pk) != alias or Aliases(b"third").of(pk) != alias


def test_consecutive_ids_have_aliases_in_no_order():
    names = Aliases(KEY)
    found = [names.of(pk) for pk in range(1_000)]
    assert len(set(found)) == 1_000
    assert 400 < sum(a < b for a, b in pairwise(found)) < 600
    assert names.of(2**52) == 2**52
