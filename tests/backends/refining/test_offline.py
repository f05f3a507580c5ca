"""The offline agent: whatever is suggested, each result overlaps its annotation and no other one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.refining.finishing import problems
from annotations.domain.refining.todo import Action, Todo
from annotations.domain.spans import Span, overlaps
from annotations.domain.tokens import tokenize
from models_runtime.backends.refining.offline import OfflineAgent
from tests.refining.conftest import note_of

LABELS = ["PATIENT", "DOCTOR", "AGE", "DATE", "CITY", "HOSPITAL"]
LEARNED, NOTES = 24, 6


@pytest.fixture(scope="module")
def agent():
    """The agent and its model of some notes."""
    made = OfflineAgent("i2b2-2014")
    notes = (note_of(number) for number in range(LEARNED))
    return made, made.learn(made.examples(text, [Span(*span) for span in spans]) for text, spans in notes)


def tokens_of(number):
    return tokenize(note_of(number)[0])


# The tokens of suggestions that don't overlap, each with its label: cut points, of which every other piece is a span.
CUTS = st.lists(
    st.tuples(st.integers(0, 60), st.sampled_from(LABELS)), min_size=2, max_size=16, unique_by=lambda c: c[0]
)


@given(number=st.integers(LEARNED, LEARNED + NOTES), cuts=CUTS)
def test_every_output_overlaps_exactly_one_input(agent, number, cuts):
    text, _spans = note_of(number)
    tokens = tokens_of(number)
    ordered = sorted((at % len(tokens), label) for at, label in cuts)
    spans = [
        Span(tokens[first].start, tokens[past - 1].end, label)
        for (first, label), (past, _) in zip(ordered[::2], ordered[1::2], strict=False)
        if first < past
    ]
    made, model = agent
    done = made.refine(Todo.of(text, spans, LABELS), model)
    assert problems(done) == [] and [item.span for item in done.items] == sorted(spans)
    results = done.results()
    assert len(results) == len(set(results)) <= len(spans)
    for result in results:
        assert len([span for span in spans if overlaps(result, span)]) == 1
        assert result.label in LABELS


def test_each_action_occurs(agent):
    """The property is not empty: of a note's suggestions, the agent keeps, changes and removes some."""
    text, spans = note_of(LEARNED)
    made, model = agent
    wrong = [Span(text.index("rosso"), text.index("rosso") + 5, "PATIENT")]
    moved = [Span(start - 6 if label == "DOCTOR" else start, end, label) for start, end, label in spans]
    done = made.refine(Todo.of(text, [*moved, *wrong], LABELS), model)
    assert {item.decision.action for item in done.items} == {Action.KEEP, Action.UPDATE, Action.REMOVE}
    assert {(one.start, one.end, one.label) for one in done.results()} == set(spans)
