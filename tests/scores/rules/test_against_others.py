"""Figures compared with those of seqeval, nervaluate and scikit-learn, on random sets.

The figures differ in these cases, which are left out of the comparison:
* seqeval and scikit-learn give 0 for undefined figures; only defined figures are compared.
* Their macro and weighted F1 are averages of F1s, while Catelli 2021 (eq. 3.23) uses the F1 of the averaged precision
  and recall. So only the averages of precision and recall are compared, over labels in both gold and predictions.
* seqeval and scikit-learn have one tag per token, so the sets have no overlapping spans.
* nervaluate (1.2) treats ends as inclusive in its search for partners, so that it takes touching spans for overlapping
  ones, and it pairs spans greedily in text order. Its `strict` and `exact` scores are compared on spans that don't
  touch; a test below shows a pair of spans that don't overlap.
"""

import random
import warnings

import pytest
from nervaluate import Evaluator
from seqeval.metrics.v1 import precision_recall_fscore_support as seqeval_scores
from seqeval.scheme import IOB2
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from annotations.agreement.rules.units import Granularity
from annotations.scores.rules import Scorer
from annotations.scores.rules.table import LevelData, TableData
from annotations.text.bio import encode_tokens
from annotations.text.spans import Span
from annotations.text.tokens import split_at, tokenize

LABELS = ["A", "B", "C"]
TEXT = "parola " * 60
Note = tuple[str, list[Span], list[Span]]


def random_notes(seed: int, *, gap: int = 0) -> list[Note]:
    """Spans of whole words, without overlaps within gold and within predictions, and at least `gap` words apart."""
    chance = random.Random(seed)

    def side(begin: int) -> list[Span]:
        spans, at = [], begin
        while at < 55:
            length = chance.randint(1, 3)
            spans.append(Span(7 * at, 7 * (at + length) - 1, chance.choice(LABELS)))
            at += length + gap + chance.randint(0, 4)
        return spans

    notes = []
    for _ in range(8):
        gold = side(chance.randint(0, 3))
        kept = [s if chance.random() < 0.8 else Span(s.start, s.end, chance.choice(LABELS)) for s in gold]
        predicted = [s for s in kept if chance.random() < 0.85]
        if not gap:
            free = [s for s in side(0) if not any(s.start < o.end and o.start < s.end for o in predicted)]
            predicted = sorted(predicted + free[:3])
        notes.append((TEXT, gold, predicted))
    return notes


def scored(notes: list[Note]) -> TableData:
    scorer = Scorer(LABELS, dict.fromkeys(LABELS, "ALL"))
    for text, gold, predicted in notes:
        scorer.add(text, gold, predicted)
    return scorer.table()


def tags(notes: list[Note]) -> tuple[list[list[str]], list[list[str]]]:
    sides: tuple[list[list[str]], list[list[str]]] = ([], [])
    for text, gold, predicted in notes:
        tokens = split_at(tokenize(text), [edge for s in (*gold, *predicted) for edge in (s.start, s.end)])
        for found, spans in zip(sides, (gold, predicted), strict=True):
            found.append(encode_tokens(tokens, spans).tags)
    return sides


def level_of(table: TableData, unit: str, granularity: Granularity) -> LevelData:
    return next(one for one in table["levels"] if (one["unit"], one["granularity"]) == (unit, granularity))


def rows_of(level: LevelData) -> list[tuple]:
    """The precision, recall, F1 and gold spans of each label."""
    return [tuple(level["classes"][label][key] for key in ("precision", "recall", "f1", "gold")) for label in LABELS]


def rates_of(scores) -> list[tuple]:
    """The precision, recall, F1 and support of each label, as seqeval and scikit-learn give them."""
    return [pytest.approx(each) for each in zip(*scores, strict=True)]


def test_spans_are_counted_like_in_seqeval() -> None:
    notes = random_notes(1)
    level = level_of(scored(notes), "entity", Granularity.SUBCATEGORY)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = {how: seqeval_scores(*tags(notes), scheme=IOB2, average=how)
                  for how in (None, "micro", "macro", "weighted")}  # fmt: skip
    assert rows_of(level) == rates_of(theirs[None])
    assert level["micro"]["f1"] == pytest.approx(theirs["micro"][2])
    for average in ("micro", "macro", "weighted"):
        assert (level[average]["precision"], level[average]["recall"]) == pytest.approx(theirs[average][:2])


def test_tokens_are_counted_like_in_scikit_learn() -> None:
    notes = random_notes(1)
    table = scored(notes)
    gold, predicted = ([tag[2:] or "O" for note in side for tag in note] for side in tags(notes))
    theirs = precision_recall_fscore_support(gold, predicted, labels=LABELS, average=None)
    assert rows_of(level_of(table, "token", Granularity.SUBCATEGORY)) == rates_of(theirs)
    binary = [[mark != "O" for mark in side] for side in (gold, predicted)]
    for granularity, theirs in (
        (Granularity.SUBCATEGORY, precision_recall_fscore_support(gold, predicted, labels=LABELS, average="micro")),
        (Granularity.BINARY, precision_recall_fscore_support(*binary, average="binary")),
    ):
        found = level_of(table, "token", granularity)["micro"]
        assert (found["precision"], found["recall"], found["f1"]) == pytest.approx(theirs[:3])
    matrix = confusion_matrix(gold, predicted, labels=[*LABELS, "O"]).tolist()
    matrix[-1][-1] = 0  # unmarked tokens don't count in the confusion matrix
    assert table["confusion"]["token"]["rows"] == matrix


def test_spans_that_don_t_touch_are_counted_like_in_nervaluate() -> None:
    notes = random_notes(1, gap=2)
    sides = [
        [[{"label": s.label, "start": s.start, "end": s.end} for s in note[side]] for note in notes] for side in (1, 2)
    ]
    theirs = Evaluator(*sides, tags=LABELS, loader="dict").evaluate()["overall"]
    for scheme, granularity in (("strict", Granularity.SUBCATEGORY), ("exact", Granularity.BINARY)):
        found, other = level_of(scored(notes), "entity", granularity)["micro"], theirs[scheme]
        assert (found["right"], found["predicted"], found["gold"]) == (other.correct, other.actual, other.possible)
    # nervaluate pairs these two spans (`ent_type`: one correct, nothing missed), and deidreview doesn't.
    touching = ("parola12", [Span(0, 6, "A")], [Span(6, 8, "A")])
    assert scored([touching])["kinds"] == {"missed": 1, "spurious": 1, "label": 0, "boundary": 0, "both": 0}
