"""Planted leaks: which proposals are drawn, what a reading made of them, and what that says of the rest."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.aliases import Aliases
from annotations.domain.planting import Candidate, Found, Marked, Missed, choose, eligible, left_over, nearest, outcome
from annotations.domain.precision import Rate

TEXT = "Mario Rossi, 54 anni, a Torino dal dott. Bianchi. Rossi torna a Torino Nord."
KEY = b"a key"


def at(words, start=0, known="people", pk=0):
    place = TEXT.index(words, start)
    return Candidate(pk or place + 1, place, place + len(words), known)


# ── Drawing ──────────────────────────────────────────────────────────────────────────────────────────────────────────

MANY = [Candidate(n, 10 * n, 10 * n + 5, "runs") for n in range(1, 9)]


def test_the_same_is_drawn_again_and_another_key_draws_otherwise():
    drawn = {note: choose(KEY, 1, note, 20, MANY) for note in range(300)}
    assert drawn == {note: choose(KEY, 1, note, 20, list(reversed(MANY))) for note in range(300)}
    assert drawn != {note: choose(b"another", 1, note, 20, MANY) for note in range(300)}
    assert drawn != {note: choose(KEY, 2, note, 20, MANY) for note in range(300)}


def test_about_the_share_of_notes_has_one_or_two():
    counts = [len(choose(KEY, 1, note, 20, MANY)) for note in range(5_000)]
    assert 900 < sum(map(bool, counts)) < 1_100
    assert 400 < counts.count(2) < 600 and max(counts) == 2
    few = [len(choose(KEY, 1, note, 20, MANY[:5])) for note in range(5_000)]
    assert [bool(n) for n in few] == [bool(n) for n in counts] and max(few) == 1, "two only where there is room"
    chosen = [one.pk for note in range(5_000) for one in choose(KEY, 1, note, 20, MANY)]
    assert all(130 < chosen.count(one.pk) < 250 for one in MANY), "each about as often"


def test_nothing_known_or_no_share_is_nothing_planted():
    assert not any(choose(KEY, 1, note, 20, []) for note in range(100))
    assert not any(choose(KEY, 1, note, 0, MANY) for note in range(1_000))


def test_only_what_nothing_on_the_page_gives_away():
    name, age, doctor = at("Mario Rossi"), at("54 anni"), at("Bianchi")
    city, north = at("Torino"), at("Torino Nord")
    again = at("Rossi", 40, pk=99)
    assert eligible(TEXT, [age, doctor], []) == [age, doctor]
    assert eligible(TEXT, [at("54 anni", known=""), doctor], []) == [doctor]
    assert eligible(TEXT, [name, again, age], []) == [again, age], (
        "the page shows Rossi in Mario Rossi, not the reverse"
    )
    assert eligible(TEXT, [city, north], []) == [city], "Torino stands in Torino Nord"
    assert eligible(TEXT, [age, at("54", pk=98)], []) == [], "others that overlap it"
    there = Marked(doctor.start, doctor.end + 1)
    assert eligible(TEXT, [age, doctor], [there]) == [age], "gold there"
    assert eligible(TEXT, [name], [Marked(again.start, again.end)]) == [], "gold elsewhere with words of it"


# ── Found and missed ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("marked", "result", "whole"),
    [
        ([], Found.MISSED, False),
        ([("54 anni", True)], Found.MISSED, False),
        ([("Mario Rossi", True)], Found.FOUND, True),
        ([("Mario Rossi,", True)], Found.FOUND, True),
        ([("Mario", True), ("Rossi", True)], Found.FOUND, True),
        ([("Mari", True), ("Rossi", True)], Found.FOUND, True),  # a word that is touched was seen
        ([("Rossi", True)], Found.PARTLY, False),
        ([(", ", True)], Found.MISSED, False),  # touching is not overlapping
        ([("Mario Rossi", False)], Found.ELSEWHERE, True),
        ([("Rossi", False)], Found.ELSEWHERE, False),
        ([("Mario", True), ("Rossi", False)], Found.FOUND, True),
    ],
)
def test_what_a_reading_made_of_it(marked, result, whole):
    spans = [Marked(TEXT.index(w), TEXT.index(w) + len(w), 1, own) for w, own in marked]
    assert outcome(TEXT, at("Mario Rossi"), spans) == (result, whole)


def test_the_span_that_stands_for_it_shares_the_most():
    short, wide = Marked(6, 11, 1), Marked(0, 20, 2)
    assert nearest(at("Mario Rossi"), [short, wide]) == wide
    assert nearest(at("Rossi"), [short, wide]) == short, "of two that hold all of it the tighter one"
    assert nearest(at("54 anni"), [short]) is None


# ── What it says of the rest ─────────────────────────────────────────────────────────────────────────────────────────


def test_the_share_is_of_identifiers_and_a_part_is_not_missed():
    assert Missed(found=16, partly=1, missed=3).rate == Rate(3, 20)


def test_what_is_left_follows_from_what_was_found_by_hand():
    left = left_over(85, Rate(15, 100))
    assert left is not None and left.expected == pytest.approx(15.0)
    assert left.least == pytest.approx(85 * 0.0931 / 0.9069, rel=0.01)  # Wilson: 9.31 % to 23.28 %
    assert left.most == pytest.approx(85 * 0.2328 / 0.7672, rel=0.01)
    assert left_over(85, Rate(3, 19)) is None, "too few"
    assert left_over(0, Rate(20, 20)) is None
    none = left_over(10, Rate(0, 40))
    assert none is not None and none.expected == 0 and none.most > 0


# ── Aliases ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(st.integers(0, 2**52 - 1))
def test_an_alias_turns_back_and_is_never_an_id(pk):
    names = Aliases(KEY)
    alias = names.of(pk)
    assert 2**52 <= alias < 2**53, "JavaScript holds it exactly"
    assert names.back(alias) == pk and names.back(pk) == pk
    assert Aliases(b"another").of(pk) != alias or Aliases(b"third").of(pk) != alias


def test_ids_that_follow_each_other_have_aliases_in_no_order():
    names = Aliases(KEY)
    found = [names.of(pk) for pk in range(1_000)]
    assert len(set(found)) == 1_000
    ups = sum(a < b for a, b in pairwise(found))
    assert 400 < ups < 600
    assert names.of(2**52) == 2**52
