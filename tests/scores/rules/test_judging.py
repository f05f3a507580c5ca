"""Judges' verdicts: the example of Miranda et al. 2025, discarded verdicts, and figures by hand."""

import pytest

from annotations.scores.rules import judging
from annotations.text.spans import Span

TP, FN, FP = judging.Judgement
DAY, NAME, EXTRA = (
    judging.Entity(0, 8, "DATA", True), judging.Entity(10, 14, "NOME", True), judging.Entity(20, 25, "NOME", False),
)  # fmt: skip


VOTES = [
    # Miranda et al. 2025, section 4.2.2: "1 Agosto" is a false negative by two of three judges. With three
    # different verdicts it doesn't count.
    ((FN, FN, TP), 0.5, FN), ((FN, FP, TP), 0.5, None), ((FN, TP), 0.5, None), ((TP,), 0.5, TP),
    ((FN, FN, TP), 0.67, None), ((FN, FN, FN), 0.67, FN),
    # Judges who don't mention the entity count in the total, so one of three is no majority.
    ((TP, None, None), 0.5, None), ((TP, TP, None), 0.5, TP),
    # A gold span can't be hidden without need.
    ((FP, FP, FP), 0.5, None), ((), 0.5, None),
]  # fmt: skip


@pytest.mark.parametrize("votes, threshold, expected", VOTES)
def test_a_verdict_needs_more_votes_than_the_threshold(votes, threshold, expected):
    assert judging.majority_verdict(votes, gold=True, threshold=threshold) == expected


def test_figures_with_missing_answers():
    tally = judging.JudgingTally(3)
    first = judging.JudgedEntities([DAY, NAME, EXTRA], [[FN, TP, FP], [FN, TP, FP], [TP, FN, TP]])
    assert tally.add(first) == [FN, TP, FP]
    # The third judge didn't answer; the two others decide where they agree; one of them doesn't mention the name.
    assert tally.add(judging.JudgedEntities([DAY, NAME], [[TP, TP], [TP, None], None])) == [TP, None]
    assert tally.add(judging.JudgedEntities([DAY], [None, None, None])) is None
    said = tally.as_dict(["NOME", "DATA", "VIA"])
    keys = ("notes", "unjudged_notes", "entities", "discarded", "judged_by_fewer")
    assert [said[key] for key in keys] == [2, 1, 5, 1, 2]
    micro = said["majority"]["micro"]
    assert [micro[key] for key in ("tp", "fn", "fp", "precision", "recall")] == [2, 1, 1, 2 / 3, 2 / 3]
    assert [row["label"] for row in said["majority"]["labels"]] == ["NOME", "DATA"]
    judges = [(one["notes"], one["silent"], one["micro"]["tp"]) for one in said["judges"]]
    assert judges == [(2, 0, 3), (2, 1, 2), (1, 0, 2)]
    agree = said["agreement"]
    # Three entities have three verdicts, with a third of the pairs in agreement; one has two equal verdicts.
    assert (agree["entities"], agree["observed"]) == (4, pytest.approx((3 / 3 + 1) / 4))
    assert [pair["observed"] for pair in agree["pairs"]] == [1, 0, 0]
    # One judge has no agreement.
    tally = judging.JudgingTally(1)
    assert tally.as_dict([])["majority"]["micro"]["f1"] is None
    tally.add(judging.JudgedEntities([EXTRA], [[TP]]))
    said = tally.as_dict(["NOME"])
    assert (said["beyond_gold"], said["agreement"]["observed"], said["agreement"]["pairs"]) == (1, None, [])
    # A note without any answer is not discarded, but unjudged.
    tally = judging.JudgingTally(3, rules=judging.MIRANDA)
    assert tally.add(judging.JudgedEntities([DAY], [None, None, None])) is None
    assert [tally.as_dict(["DATA"])[key] for key in ("unjudged_notes", "discarded", "entities")] == [1, 0, 0]


def test_by_the_rules_of_miranda_any_verdict_can_win():
    """Section 3.3.2: the votes for each verdict are counted, whether or not the entity is in gold."""
    for gold in (True, False):
        assert [
            judging.majority_verdict((one, one, TP), gold=gold, rules=judging.MIRANDA) for one in judging.Judgement
        ] == [TP, FN, FP]
    # By the standard rules, an entity outside gold is a false positive or right, but never a false negative.
    assert judging.majority_verdict((FP, FP, FP), gold=True, rules=judging.STANDARD) is None
    assert [judging.majority_verdict((one, one), gold=False) for one in judging.Judgement] == [TP, None, FP]


ANSWERS = [
    # One TP of three judges asked is no majority, though the two others gave no answer on the note.
    ([[TP], None, None], TP, None), ([[TP], [TP], None], TP, TP), ([[TP], [FN], None], None, None),
    ([[FN], [FN], [TP]], FN, FN), ([[TP], [None], [None]], None, None),
]  # fmt: skip


@pytest.mark.parametrize("answers, standard, miranda", ANSWERS)
def test_the_quorum_is_of_all_judges_asked_or_of_those_who_answered(answers, standard, miranda):
    for rules, expected in ((judging.STANDARD, standard), (judging.MIRANDA, miranda)):
        tally = judging.JudgingTally(3, rules=rules)
        assert tally.add(judging.JudgedEntities([DAY], answers)) == [expected]
        assert tally.as_dict(["DATA"])["discarded"] == (expected is None)


def test_entities_are_gold_spans_and_predictions_that_overlap_none():
    def entities(gold, predicted, rules):
        return [one[:4] for one in judging.entities_of(spans(*gold), spans(*predicted), rules)]

    name, place = (0, 11, "NOME"), (20, 26, "LUOGO")
    predicted = [(0, 5, "NOME"), (20, 26, "DATA"), (22, 24, "LUOGO"), (30, 32, "NOME")]
    known, extra = [(*name, True), (*place, True)], (30, 32, "NOME", False)
    assert entities([name, place], predicted, judging.STANDARD) == [*known, extra]
    # The place is hidden by [DATA], so the de-identified text has a [DATA] that gold lacks, and no [LUOGO].
    date = (20, 26, "DATA", False)
    assert entities([name, place], predicted, judging.MIRANDA) == [known[0], date, known[1], extra]
    # Predictions that touch gold
    gold = [(0, 8, "DATA"), (3, 5, "NOME"), (30, 40, "NOME")]
    touching = [(0, 8, "DATA"), (8, 10, "DATA"), (25, 31, "NOME"), (40, 41, "NOME")]
    assert entities(gold, touching, judging.STANDARD) == sorted(
        [*((*one, True) for one in gold), (8, 10, "DATA", False), (40, 41, "NOME", False)]
    )


def spans(*bounds):
    return [Span(*one) for one in bounds]


def test_equal_texts_with_the_same_label_can_be_one_entity():
    text = "Anna vede Anna e Rosa. Rosa? Anna"
    found = [
        judging.Entity(0, 4, "NOME", True), judging.Entity(10, 14, "NOME", True), judging.Entity(17, 21, "NOME", True),
        judging.Entity(23, 27, "LUOGO", True), judging.Entity(29, 33, "NOME", False),
    ]  # fmt: skip
    # The last "Anna" is hidden, but not in gold: its superfluous placeholder is an entity of its own.
    assert judging.by_text(text, found) == [found[0]._replace(more=((10, 14),)), *found[2:]]
    assert judging.by_text(text, found)[0].occurrences == [(0, 4), (10, 14)]


def test_accuracy_is_the_share_of_true_positives_without_discarded_entities():
    found = judging.figures_of({"TP": 6, "FN": 3, "FP": 3, "discarded": 5})
    assert (found["accuracy"], found["entities"], found["discarded"]) == (0.5, 17, 5)
    assert judging.figures_of({"discarded": 1})["accuracy"] is None
