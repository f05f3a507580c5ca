"""Scores: examples by hand, formulas on random sets, and properties."""

import random
import warnings
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nervaluate import Evaluator
from seqeval.metrics.v1 import precision_recall_fscore_support as seqeval_scores
from seqeval.scheme import IOB2
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from annotations.agreement.rules.units import Granularity
from annotations.scores.rules import Rates, Scorer
from annotations.scores.rules.errors import ErrorType
from annotations.scores.rules.table import LabelData, LevelData, TableData
from annotations.scores.rules.tally import Criterion
from annotations.text.bio import encode_tokens
from annotations.text.spans import Span, SpanError, split_at, tokenize
from tests.text.strategies import spans_of, texts

LABELS = ("PATIENT", "DOCTOR", "CITY", "DATE")
CATEGORY = {"PATIENT": "NAME", "DOCTOR": "NAME", "CITY": "LOCATION", "DATE": "DATE"}
SUB, CAT, BIN = Granularity.SUBCATEGORY, Granularity.CATEGORY, Granularity.BINARY
#       0         1         2         3         4
#       0123456789012345678901234567890123456789012345678901
TEXT = "Mario Rossi a Torino il 3/4 dal dott. Bianchi Anna."


def spans(*given_bounds: tuple[int, int, str]) -> list[Span]:
    return [Span(*bounds) for bounds in given_bounds]


def score(*notes: tuple[str, Sequence[Span], Sequence[Span]]) -> TableData:
    scorer = Scorer(LABELS, CATEGORY)
    for text, gold, predicted in notes:
        scorer.add(text, gold, predicted)
    return scorer.table()


def level_of(table: TableData, unit: str, granularity: Granularity) -> LevelData:
    return next(one for one in table["levels"] if (one["unit"], one["granularity"]) == (unit, granularity))


def micro(table: TableData, unit: str, granularity: Granularity) -> tuple[int, int, int]:
    """Predicted, right and gold."""
    rates = level_of(table, unit, granularity)["micro"]
    assert rates["right"] == rates["found"]
    return rates["predicted"], rates["right"], rates["gold"]


def all_found(row: TableData | LabelData) -> dict[str, int]:
    """The notes in which all gold spans were found, by criterion."""
    return {criterion: one["all_found"] for criterion, one in row["all_or_nothing"].items()}


GOLD = spans((0, 11, "PATIENT"), (14, 20, "CITY"), (24, 27, "DATE"), (38, 45, "DOCTOR"))
# The patient's second name is missing; the city is right; the date is missed; the doctor has the label PATIENT; there
# is a spurious city.
PREDICTED = spans((0, 5, "PATIENT"), (14, 20, "CITY"), (38, 45, "PATIENT"), (46, 50, "CITY"))


def test_the_six_levels_by_hand() -> None:
    table = score((TEXT, GOLD, PREDICTED))
    entity = [micro(table, "entity", granularity) for granularity in (SUB, CAT, BIN)]
    assert entity == [(4, 1, 4), (4, 2, 4), (4, 2, 4)]
    # Tokens. Gold: Mario Rossi | Torino | 3 / 4 | Bianchi = 7; predicted: Mario | Torino | Bianchi | Anna = 4.
    token = [micro(table, "token", granularity) for granularity in (SUB, CAT, BIN)]
    assert token == [(4, 2, 7), (4, 3, 7), (4, 3, 7)]
    # 14 tokens: Mario Rossi a Torino il 3 / 4 dal dott . Bianchi Anna . Wrong: Rossi, 3, /, 4, Bianchi and Anna.
    assert (table["tokens"], table["accuracy"]) == (14, 8 / 14)
    # Tokens are split at gold and predicted spans.
    table = score(("GambiaHome", spans((0, 6, "CITY")), spans((0, 10, "CITY"))))
    assert (table["tokens"], micro(table, "token", SUB)) == (2, (2, 1, 1))
    # Two labels with equal bounds are one span at coarser granularities.
    table = score((TEXT, spans((0, 11, "PATIENT"), (0, 11, "DOCTOR")), spans((0, 11, "PATIENT"))))
    assert micro(table, "entity", SUB) == (1, 1, 2)
    assert micro(table, "entity", CAT) == micro(table, "entity", BIN) == (1, 1, 1)
    assert table["meddocan"]["strict"] == Rates.paired(1, 1, 1).as_dict()
    # Two halves cover a name.
    table = score((TEXT, spans((0, 11, "PATIENT")), spans((0, 5, "DOCTOR"), (6, 11, "CITY"))))
    assert all_found(table) == dict.fromkeys(Criterion, 0) | {Criterion.COVERED: 1}
    assert table["residual"]["with_miss"] == 0
    assert (micro(table, "token", BIN), micro(table, "entity", BIN)) == ((2, 2, 2), (2, 0, 1))


def test_error_kinds_by_hand() -> None:
    table = score((TEXT, GOLD, PREDICTED))
    assert table["kinds"] == {"missed": 1, "spurious": 1, "label": 1, "boundary": 1, "both": 0}
    # Rows: gold; columns: predicted.
    cells = table["confusion"]["entity"]
    assert cells["labels"] == ["PATIENT", "DOCTOR", "CITY", "DATE", ""]
    assert cells["rows"] == [[1, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 1], [0, 0, 1, 0, 0]]


def test_errors_are_in_text_order_with_gold_and_prediction() -> None:
    errors = Scorer(LABELS, CATEGORY).add(TEXT, GOLD, PREDICTED)
    found = [(error.kind, error.start, error.end) for error in errors]
    assert found == [
        (ErrorType.BOUNDARY, 0, 11), (ErrorType.MISSED, 24, 27), (ErrorType.LABEL, 38, 45),
        (ErrorType.SPURIOUS, 46, 50),
    ]  # fmt: skip
    assert errors[2].gold == (38, 45, "DOCTOR") and errors[2].predicted == (38, 45, "PATIENT")
    (both,) = Scorer(LABELS, CATEGORY).add(TEXT, spans((0, 11, "PATIENT")), spans((6, 13, "DOCTOR")))
    assert both.kind is ErrorType.BOTH


def test_found_covered_and_tolerant_by_hand() -> None:
    table = score((TEXT, GOLD, PREDICTED), (TEXT, GOLD[:2], GOLD[:2]), (TEXT, [], []))
    assert table["notes"] == 3 and table["notes_with_gold"] == 2
    assert all_found(table) == dict.fromkeys(Criterion, 1)
    by_label = {row["label"]: row for row in table["labels"]}
    # The doctor of the first note is covered, though with another label; DOCTOR occurs only in that note.
    covered = dict.fromkeys(Criterion, 0) | {Criterion.COVERED: 1}
    assert all_found(by_label["DOCTOR"]) == covered | {Criterion.TOLERANT_CATEGORY: 1, Criterion.TOLERANT_ANY: 1}
    assert by_label["PATIENT"]["notes"] == 2 and all_found(by_label["PATIENT"])[Criterion.COVERED] == 1
    residual = table["residual"]
    assert residual["with_miss"] == 1 and residual["share"] == pytest.approx(1 / 3)
    assert (residual["low"], residual["high"]) == pytest.approx((0.0615, 0.7923), abs=1e-4)  # Wilson, 1 of 3


def test_overlap_binary_by_hand() -> None:
    """Xu et al. 2026, section 4: a span that overlaps gold of any class is right, with all its tokens."""
    table = score((TEXT, GOLD, PREDICTED))
    # Mario, Torino and Bianchi overlap gold, Anna doesn't. All gold spans but the date (three tokens) overlap.
    assert table["overlap"]["token"] == Rates(predicted=4, right=3, gold=7, found=4).as_dict()
    assert table["overlap"]["entity"] == Rates(predicted=4, right=3, gold=4, found=3).as_dict()


TOLERANT = [
    ((0, 11, "PATIENT"), (0, 7, "PATIENT"), 1, 1),  # 7/11 = 0.636
    ((0, 11, "PATIENT"), (0, 6, "PATIENT"), 0, 0),  # 6/11 = 0.545
    ((0, 11, "PATIENT"), (1, 11, "DOCTOR"), 1, 0),
    ((0, 5, "PATIENT"), (6, 11, "PATIENT"), 0, 0),  # they don't overlap
]


@pytest.mark.parametrize("gold, predicted, any_label, same_label", TOLERANT)
def test_text_and_position_with_tolerance(gold, predicted, any_label, same_label) -> None:
    found = score((TEXT, spans(gold), spans(predicted)))["tolerant"]
    assert (found["any_label"]["right"], found["same_label"]["right"]) == (any_label, same_label)


def test_matching_is_optimal_not_greedy() -> None:
    """The long prediction overlaps both gold spans; a greedy method would leave one of them without a partner."""
    gold = spans((0, 5, "PATIENT"), (6, 11, "PATIENT"))
    predicted = spans((0, 11, "PATIENT"), (7, 11, "PATIENT"))
    table = score((TEXT, gold, predicted))
    assert table["kinds"] == {"missed": 0, "spurious": 0, "label": 0, "boundary": 2, "both": 0}


def test_tokens_per_span_depend_on_gold_only() -> None:
    # The prediction ends inside the second word, but that doesn't add a token to the gold span.
    table = score((TEXT, spans((0, 11, "PATIENT")), spans((0, 8, "PATIENT"))))
    assert (table["labels"][0]["tokens_per_span"], table["tokens"]) == (2.0, 15)


def test_undefined_is_none() -> None:
    nothing = score((TEXT, [], []))
    assert nothing["levels"][0]["micro"]["f1"] is None
    assert (nothing["meddocan"]["leak"], nothing["labels"]) == (0.0, [])
    assert (score()["meddocan"]["leak"], score()["accuracy"]) == (None, None)
    assert score()["residual"] == {"notes": 0, "with_miss": 0, "share": None, "low": None, "high": None}
    only_predicted = score((TEXT, [], spans((0, 5, "CITY"))))["labels"][0]
    only_gold = score((TEXT, spans((0, 5, "CITY")), []))["labels"][0]
    assert only_predicted["entity"] == Rates.paired(0, 1, 0).as_dict() and Rates.paired(0, 1, 0).f1 == 0.0
    assert only_gold["entity"] == Rates.paired(0, 0, 1).as_dict() and Rates.paired(0, 0, 1).precision is None
    assert only_predicted["tokens_per_span"] is None


def test_unknown_labels_and_bad_spans_are_refused() -> None:
    with pytest.raises(KeyError, match="NOBODY"):
        score((TEXT, spans((0, 5, "NOBODY")), []))
    for bad in ((0, 500, "CITY"), (5, 5, "CITY")):
        with pytest.raises(SpanError):
            score((TEXT, [], spans(bad)))


def test_another_tokenizer() -> None:
    scorer = Scorer(LABELS, CATEGORY)
    predicted = spans((0, 5, "PATIENT"), (8, 11, "CITY"))
    halves = lambda text: split_at(tokenize(text), [2])  # noqa: E731
    scorer.add("Mario Rossi", spans((0, 11, "PATIENT")), predicted, tokenizer=halves)
    # Ma rio Ro ssi: the prediction splits Rossi, the tokenizer splits Mario.
    assert (micro(scorer.table(), "token", SUB), scorer.table()["tokens"]) == ((3, 2, 4), 4)


@st.composite
def notes(draw: st.DrawFn, max_size: int = 6) -> tuple[str, list[Span], list[Span]]:
    text = draw(texts(12))
    gold, predicted = draw(spans_of(text, max_size, LABELS)), draw(spans_of(text, max_size, LABELS))
    # Many predictions are right, so that not only random errors are tested.
    return text, gold, predicted + [span for span in gold if draw(st.booleans())]


@pytest.mark.parametrize(
    ("gold", "predicted", "label", "binary"),
    [
        ("PATIENT", "DOCTOR PATIENT", (2, 1, 1), (1, 1, 1)), ("DOCTOR PATIENT", "PATIENT", (1, 1, 2), (1, 1, 1)),
        ("DOCTOR PATIENT", "PATIENT DOCTOR", (2, 2, 2), (1, 1, 1)), ("", "DOCTOR PATIENT", (2, 0, 0), (1, 0, 0)),
        ("CITY", "DOCTOR PATIENT", (2, 0, 1), (1, 1, 1)),
    ],
)  # fmt: skip
def test_a_token_with_two_labels_counts_for_each(gold, predicted, label, binary) -> None:
    sides = (spans(*((0, 5, one) for one in side.split())) for side in (gold, predicted))
    table = score((TEXT, *sides))
    assert (micro(table, "token", SUB), micro(table, "token", BIN)) == (label, binary)


@given(notes(10))
def test_the_counts_are_those_of_a_direct_computation(note) -> None:
    """Compare the counts with sets of spans and with a loop over all tokens.

    The scorer's shortcuts (knots, lone spans) are not used.
    """
    text, gold, predicted = note
    table = score(note)
    ours, theirs = ({(s.start, s.end, s.label) for s in given} for given in (predicted, gold))
    assert micro(table, "entity", SUB) == (len(ours), len(ours & theirs), len(theirs))
    bare, wanted = ({bounds[:2] for bounds in found} for found in (ours, theirs))
    assert micro(table, "entity", BIN) == (len(bare), len(bare & wanted), len(wanted))
    tokens = split_at(tokenize(text), [edge for s in (*gold, *predicted) for edge in (s.start, s.end)])
    assert table["tokens"] == len(tokens)

    def marks(given: Sequence[Span]) -> list[bool]:
        return [any(s.start <= t.start and t.end <= s.end for s in given) for t in tokens]

    both = list(zip(marks(predicted), marks(gold), strict=True))
    right = sum(p and g for p, g in both)
    assert micro(table, "token", BIN) == (sum(p for p, _ in both), right, sum(g for _, g in both))
    assert table["residual"]["with_miss"] == any(g and not p for p, g in both)
    spans_in_cells = sum(map(sum, table["confusion"]["entity"]["rows"]))
    paired = len(ours) + len(theirs) - spans_in_cells
    assert paired == spans_in_cells - table["kinds"]["missed"] - table["kinds"]["spurious"]


# Figures compared with those of seqeval, nervaluate and scikit-learn, on random sets


LABELS_OF = ["A", "B", "C"]
SHORT = "parola " * 60
Note = tuple[str, list[Span], list[Span]]


def random_notes(seed: int, *, gap: int = 0) -> list[Note]:
    """Spans of whole words, without overlaps within gold and within predictions, and at least `gap` words apart."""
    chance = random.Random(seed)

    def side(begin: int) -> list[Span]:
        spans, at = [], begin
        while at < 55:
            length = chance.randint(1, 3)
            spans.append(Span(7 * at, 7 * (at + length) - 1, chance.choice(LABELS_OF)))
            at += length + gap + chance.randint(0, 4)
        return spans

    notes = []
    for _ in range(8):
        gold = side(chance.randint(0, 3))
        kept = [s if chance.random() < 0.8 else Span(s.start, s.end, chance.choice(LABELS_OF)) for s in gold]
        predicted = [s for s in kept if chance.random() < 0.85]
        if not gap:
            free = [s for s in side(0) if not any(s.start < o.end and o.start < s.end for o in predicted)]
            predicted = sorted(predicted + free[:3])
        notes.append((SHORT, gold, predicted))
    return notes


def scored(notes: list[Note]) -> TableData:
    scorer = Scorer(LABELS_OF, dict.fromkeys(LABELS_OF, "ALL"))
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


def their_level(table: TableData, unit: str, granularity: Granularity) -> LevelData:
    return next(one for one in table["levels"] if (one["unit"], one["granularity"]) == (unit, granularity))


def rows_of(level: LevelData) -> list[tuple]:
    """The precision, recall, F1 and gold spans of each label."""
    return [tuple(level["classes"][label][key] for key in ("precision", "recall", "f1", "gold")) for label in LABELS_OF]


def rates_of(scores) -> list[tuple]:
    """The precision, recall, F1 and support of each label, as seqeval and scikit-learn give them."""
    return [pytest.approx(each) for each in zip(*scores, strict=True)]


def test_spans_are_counted_like_in_seqeval() -> None:
    notes = random_notes(1)
    level = their_level(scored(notes), "entity", Granularity.SUBCATEGORY)
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
    theirs = precision_recall_fscore_support(gold, predicted, labels=LABELS_OF, average=None)
    assert rows_of(their_level(table, "token", Granularity.SUBCATEGORY)) == rates_of(theirs)
    binary = [[mark != "O" for mark in side] for side in (gold, predicted)]
    for granularity, theirs in (
        (Granularity.SUBCATEGORY, precision_recall_fscore_support(gold, predicted, labels=LABELS_OF, average="micro")),
        (Granularity.BINARY, precision_recall_fscore_support(*binary, average="binary")),
    ):
        found = their_level(table, "token", granularity)["micro"]
        assert (found["precision"], found["recall"], found["f1"]) == pytest.approx(theirs[:3])
    matrix = confusion_matrix(gold, predicted, labels=[*LABELS_OF, "O"]).tolist()
    matrix[-1][-1] = 0  # unmarked tokens don't count in the confusion matrix
    assert table["confusion"]["token"]["rows"] == matrix


def test_spans_that_don_t_touch_are_counted_like_in_nervaluate() -> None:
    notes = random_notes(1, gap=2)
    sides = [
        [[{"label": s.label, "start": s.start, "end": s.end} for s in note[side]] for note in notes] for side in (1, 2)
    ]
    theirs = Evaluator(*sides, tags=LABELS_OF, loader="dict").evaluate()["overall"]
    for scheme, granularity in (("strict", Granularity.SUBCATEGORY), ("exact", Granularity.BINARY)):
        found, other = their_level(scored(notes), "entity", granularity)["micro"], theirs[scheme]
        assert (found["right"], found["predicted"], found["gold"]) == (other.correct, other.actual, other.possible)
    # nervaluate pairs these two spans (`ent_type`: one correct, nothing missed), and deidreview doesn't.
    touching = ("parola12", [Span(0, 6, "A")], [Span(6, 8, "A")])
    assert scored([touching])["kinds"] == {"missed": 1, "spurious": 1, "label": 0, "boundary": 0, "both": 0}
