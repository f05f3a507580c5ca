"""Notes of which suggestions cover all gold of a label, by label, with the exact interval."""

import random

import pytest

from annotations.domain.scoring import Scorer
from annotations.domain.scoring.binomial import exact
from annotations.domain.spans import Span
from annotations.domain.whitespace import WHITE_SPACE, trim

LABELS = ("A", "B")
CATEGORY_OF = {"A": "one", "B": "two"}


def masked(notes):
    scorer = Scorer(LABELS, CATEGORY_OF)
    for text, gold, predicted in notes:
        scorer.add(text, [Span(*bounds) for bounds in gold], [Span(*bounds) for bounds in predicted])
    return {row["label"]: row["fully_masked"] for row in scorer.table().as_dict()["labels"]}


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [(0, 10, 0.0, 0.3085), (10, 10, 0.6915, 1.0), (2, 3, 0.0943, 0.9916), (50, 100, 0.3983, 0.6017)],
)
def test_the_interval_is_that_of_clopper_and_pearson(hits, of, low, high):
    """The values are those of the tables of binomial intervals."""
    assert exact(hits, of) == pytest.approx((low, high), abs=5e-5)
    assert exact(0, 0) is None


def test_suggestions_of_any_label_mask_and_only_the_label_s_own_gold_counts():
    text = "Anna Bianchi, Roma"
    found = masked(
        [
            (text, [(0, 12, "A"), (14, 18, "B")], [(0, 4, "B"), (5, 12, "A")]),
            (text, [(0, 12, "A")], [(0, 11, "A")]),
            (text, [(14, 18, "B")], [(13, 18, "A")]),
            (text, [], [(0, 4, "A")]),
        ]
    )
    low, high = exact(1, 2)
    assert found["A"] == {"notes": 2, "all_found": 1, "share": 0.5, "low": low, "high": high}
    assert found["B"] == {"notes": 2, "all_found": 1, "share": 0.5, "low": low, "high": high}


def test_without_gold_of_the_label_there_is_no_share():
    found = masked([("Anna", [(0, 4, "A")], [(0, 4, "B")])])
    assert found["B"] == {"notes": 0, "all_found": 0, "share": None, "low": None, "high": None}
    assert found["A"]["all_found"] == 1


def test_every_character_but_white_space_is_covered_in_random_notes():
    """Equal to the definition by characters, also within tokens, with accents, emoji and zero-width spaces."""
    pick = random.Random(5)

    def spans(length):
        bounds = [sorted(pick.sample(range(length + 1), 2)) for _ in range(pick.randint(0, 4))]
        return [(start, end, pick.choice(LABELS)) for start, end in bounds]

    for _ in range(60):
        text = "".join(pick.choices("ab1.\u00e9\U0001f600\u200b\n ", k=12))
        gold = [bounds for bounds in spans(12) if trim(text, *bounds[:2])[0] < trim(text, *bounds[:2])[1]]
        predicted = spans(12)
        covered = {at for start, end, _ in predicted for at in range(start, end)}
        found = masked([(text, gold, predicted)])
        for label in {bounds[2] for bounds in gold}:
            needed = {at for start, end, own in gold if own == label for at in range(start, end)}
            open_ones = {at for at in needed - covered if text[at] not in WHITE_SPACE}
            assert found[label]["all_found"] == (not open_ones), (text, gold, predicted)
