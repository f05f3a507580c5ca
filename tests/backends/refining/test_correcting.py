"""Corrections of single annotations by a language model: questions, answers, and where a changed text is found."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from annotations.text.spans import Span, overlaps
from models_runtime.backends.refining.correcting import anchored, applied, correction_in, question_about
from models_runtime.backends.refining.todo import Todo, decide_rest, problems

TEXT = "Mario Rossi, 54 anni, prende 30 mg. Visto a Torino. Mario  Rossi torna."
SPANS = [Span(0, 5, "PATIENT"), Span(13, 15, "AGE"), Span(29, 31, "AGE"), Span(44, 50, "PATIENT"), Span(52, 57, "AGE")]
LABELS = ["AGE", "CITY", "PATIENT"]
TODO = Todo.of(TEXT, SPANS, LABELS)


def answer(action, text="", label="", reason="because"):
    return json.dumps({"answer": action, "text": text, "type": label, "reason": reason})


@pytest.mark.parametrize(
    ("number", "said", "result"),
    [
        (1, answer("correct"), SPANS[0]),
        (3, answer("remove"), None),
        (1, answer("update", "Mario Rossi", "PATIENT"), Span(0, 11, "PATIENT")),
        # The occurrence at the annotation, whatever the white space and case.
        (5, answer("update", "mario rossi", "PATIENT"), Span(52, 64, "PATIENT")),
        (4, answer("update", "", "CITY"), Span(44, 50, "CITY")),
        (2, "I think:\n```json\n" + answer("update", "54 anni", "") + "\n```", Span(13, 20, "AGE")),
        (2, '<think>{"answer": "remove"}</think>' + answer("correct"), SPANS[1]),
    ],
)
def test_answers_that_are_applied(number, said, result):
    found = applied(TODO, number, said)
    assert not found.unreadable and not found.refused and found.todo.item(number).result == result
    assert [item.number for item in found.todo.done()] == [number]


@pytest.mark.parametrize(("said", "unreadable"), [
    ("no JSON at all", True), ("", True), ('{"answer": "add", "text": "Torino", "type": "CITY", "reason": ""}', True),
    ('{"answer": "remove"', True), ('{"answer": ["remove"]}', True), (answer("update", "Torino", "CITY"), False),
    (answer("update", "54", "NOTHING"), False), (answer("update", "54 anni, prende 30 mg", "AGE"), False),
    (answer("update", TEXT * 9, "AGE"), False),
])  # fmt: skip
def test_other_answers_keep_the_original_and_are_counted(said, unreadable):
    found = applied(TODO, 2, said)
    assert (found.unreadable, found.refused) == (unreadable, not unreadable)
    assert found.todo.item(2).result == SPANS[1] and str(found.todo.item(2).decision.action) == "keep"


def test_a_question_shows_the_whole_note_and_allows_only_an_answer_about_the_annotation():
    question = question_about("Prompt", TODO, 4)
    first, shown, last = question.user.split("\n")
    assert first == last and first.startswith("note-")
    found = json.loads(shown)
    assert found["before"] + found["annotated"] + found["after"] == TEXT
    assert (found["annotated"], found["type"]) == ("Torino", "PATIENT") and "examples" not in found
    assert question.schema["properties"]["answer"]["enum"] == ["correct", "update", "remove"]
    assert question.schema["properties"]["type"]["enum"] == ["", *LABELS]
    assert question.schema["additionalProperties"] is False


def test_the_nearest_overlapping_occurrence():
    assert anchored("aaaa", Span(1, 3, "X"), "aa") == (1, 3) and anchored("an an an", Span(3, 5, "X"), "an") == (3, 5)
    assert anchored("an an an", Span(3, 5, "X"), "an an") == (0, 5)
    assert anchored("an of an", Span(3, 5, "X"), "an") is None and correction_in("{" * 5000) is None


parts = st.tuples(st.integers(0, 71), st.integers(0, 71)).map(lambda bounds: TEXT[bounds[0] : bounds[1]])
said = st.one_of(
    st.text(max_size=40),
    st.builds(
        answer, st.sampled_from(["correct", "update", "remove", "add"]), st.one_of(st.text(max_size=9), parts),
        st.sampled_from(["", *LABELS, "NOTHING"]),
    ),
)  # fmt: skip


@given(st.lists(said, min_size=5, max_size=5))
@example([answer("update", TEXT[:52])] * 5)
def test_every_output_overlaps_exactly_one_input(answers):
    todo = TODO
    for number, one in enumerate(answers, 1):
        todo = applied(todo, number, one).todo
    todo = decide_rest(todo)
    results = todo.results()
    assert not todo.open() and not problems(todo) and len(results) <= len(SPANS)
    for span in results:
        assert sum(overlaps(span, one) for one in SPANS) == 1
