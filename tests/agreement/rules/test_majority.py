from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.agreement.rules.disagreement import majority
from annotations.text.spans import Span
from annotations.text.tokens import Token, split_at, tokenize
from tests.text.strategies import LABELS, apart, spans_of, texts

TEXT = "Dr. Anna Maria Neri, Roma"
ANNA, NERI, WHOLE = Span(4, 8, "NAME"), Span(15, 19, "NAME"), Span(4, 19, "NAME")


OTHERS = [Span(9, 19, "NAME"), Span(4, 14, "NAME")]
MARIA, WOMAN = Span(9, 14, "NAME"), Span(9, 14, "WOMAN")
ONE, TWO = [Span(0, 5, "X")], [Span(0, 2, "X"), Span(3, 5, "X")]
HOME = [[Span(0, 6, "X")], [Span(0, 6, "X")], [Span(0, 10, "X")]]


DECIDED = [
    (TEXT, [], []),
    (TEXT, [[ANNA, NERI]], [ANNA, NERI]),  # a single annotator is a majority
    (TEXT, [[WHOLE], [WHOLE], []], [WHOLE]), (TEXT, [[WHOLE], [], []], []),
    # Where bounds differ, each token is decided by its own majority.
    (TEXT, [[WHOLE], *([span] for span in OTHERS)], [WHOLE]), (TEXT, [[WHOLE], [MARIA], [MARIA]], [MARIA]),
    # A new span needs more than half of those who chose the label.
    ("aa bb", [TWO, TWO, ONE], TWO), ("aa bb", [ONE, TWO, []], ONE), ("aa bb", [ONE, ONE, TWO], ONE),
    ("GambiaHome", HOME, HOME[0]),  # inside a word
    (TEXT, [[WHOLE, WOMAN], [WHOLE, WOMAN], [WHOLE]], [WHOLE, WOMAN]),  # nested
]  # fmt: skip


@pytest.mark.parametrize(("text", "annotation_sets", "spans"), DECIDED)
def test_more_than_half_decides(text: str, annotation_sets: list[list[Span]], spans: list[Span]) -> None:
    assert majority(text, annotation_sets) == spans


CARLO = [Span(0, 18, "H"), Span(9, 18, "H")]
STATES = [[Span(21, 25, "STATE")], [Span(21, 25, "CITY")], []]


TIES = [
    (TEXT, [[WHOLE], []]),
    (TEXT, STATES),
    (TEXT, [[WHOLE, WOMAN], [WHOLE]]),  # nested spans with other labels are voted on separately
    ("Ospedale San Carlo", [CARLO] * 3),  # overlapping spans with one label in one annotation set
    ("aa bb", [TWO, []]),
]


@pytest.mark.parametrize(("text", "annotation_sets"), TIES)
def test_ties_are_left_open(text: str, annotation_sets: list[list[Span]]) -> None:
    assert majority(text, annotation_sets) is None


@st.composite
def annotation_sets(draw: st.DrawFn) -> tuple[str, list[list[Span]]]:
    """A text with up to five annotation sets, each without overlapping spans."""
    text = draw(texts(10))
    made = [apart(draw(spans_of(text, 5, LABELS[:2]))) for _ in range(draw(st.integers(0, 5)))]
    return text, made


def tag(token: Token, annotation_set: list[Span]) -> tuple[str, Span | None]:
    for span in annotation_set:
        if span.start <= token.start and token.end <= span.end:
            return span.label, span
    return "O", None


@given(annotation_sets())
def test_against_a_plain_count(made: tuple[str, list[list[Span]]]) -> None:
    """More than half of the annotators per token and label; a new span where most of them start one."""
    text, sets = made
    tokens = split_at(tokenize(text), [edge for spans in sets for s in spans for edge in (s.start, s.end)])
    expected: list[list] = []
    before = "O"
    is_open = False
    for token in tokens:
        tags = [tag(token, spans) for spans in sets]
        counts = Counter(label for label, _ in tags)
        winner = next((label for label, count in counts.items() if 2 * count > len(sets)), None)
        is_open = is_open or (winner is None and bool(set(counts) - {"O"}))
        if winner in (None, "O"):
            before = "O"
            continue
        begins = sum(span is not None and label == winner and span.start == token.start for label, span in tags)
        if before == winner and 2 * begins <= counts[winner]:
            expected[-1][1] = token.end
        else:
            expected.append([token.start, token.end, winner])
        before = winner
    spans = [Span(*each) for each in expected]
    assert majority(text, sets) == (None if is_open else spans)
    for spans in sets[:1]:
        assert majority(text, [spans] * 3) == spans
