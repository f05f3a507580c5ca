"""The to-do list: decisions, what is refused, the last check, and properties of every result."""

import pytest

from annotations.text.spans import Span
from models_runtime.backends.refining.todo import LONGEST_REASON, Action, DecisionRefused, Todo, decide_rest, problems

TEXT = "Dr. Anna Rossi, Parkinson, visto a Torino"
ROSSI, PARKINSON, TORINO = Span(4, 14, "PATIENT", 0.9, "rules"), Span(16, 25, "PATIENT"), Span(35, 41, "CITY")
LABELS = ["PATIENT", "DOCTOR", "CITY"]


@pytest.fixture
def todo():
    return Todo.of(TEXT, [TORINO, ROSSI, PARKINSON, TORINO], LABELS)


def test_a_new_list_is_open_and_in_order(todo):
    assert [(item.number, item.span) for item in todo.items] == [(1, ROSSI), (2, PARKINSON), (3, TORINO)]
    assert (len(todo.open()), todo.done(), todo.items[0].span.confidence) == (3, [], 0.9)
    assert todo.results() == [ROSSI, PARKINSON, TORINO]
    assert len(todo.keep(1, "x" * 9000).items[0].decision.reason) == LONGEST_REASON


def test_each_decision(todo):
    decided = todo.keep(3, "A town.").update(1, "After “Dr.”", start=0, label="DOCTOR").remove(2, "  A\n disease. ")
    assert [item.number for item in decided.done()] == [3, 1, 2]
    assert [(each.decision.action, each.decision.step) for each in decided.items] == [
        (Action.UPDATE, 2), (Action.REMOVE, 3), (Action.KEEP, 1)
    ]  # fmt: skip
    assert decided.results() == [Span(0, 14, "DOCTOR"), TORINO] and decided.items[1].decision.reason == "A disease."
    assert problems(decided) == [] and decided.open() == []
    # The list before has not changed, and a decision can be taken back.
    assert len(todo.open()) == 3 and decided.reopen(2).results() == [Span(0, 14, "DOCTOR"), PARKINSON, TORINO]


def test_a_change_that_changes_nothing_keeps_and_white_space_is_left_out(todo):
    assert todo.update(1, "").items[0].decision.action is Action.KEEP
    assert todo.update(3, "", start=34).items[2].decision.action is Action.KEEP
    assert todo.update(1, "", start=3).items[0].result == ROSSI


REFUSED = [
    (4, {}, "4.*3"), (0, {}, "0"), (1, {"label": "TOWN"}, "“TOWN”.*CITY, DOCTOR, PATIENT"),
    (1, {"start": 15}, "15-14"), (3, {"end": 42}, "42"), (1, {"start": 27, "end": 30}, "4-14"), (1, {"end": 20}, "2"),
    (2, {"start": 15, "end": 16}, "16-25|white"),
]  # fmt: skip


@pytest.mark.parametrize(("number", "change", "said"), REFUSED)
def test_what_is_refused(todo, number, change, said):
    with pytest.raises(DecisionRefused, match=said):
        todo.update(number, "", **change)


def test_the_last_check_and_what_settles_it(todo):
    doubled = Todo.of(TEXT, [ROSSI, Span(4, 14, "DOCTOR")], LABELS).update(2, "", label="DOCTOR")
    assert len(problems(doubled)) == 3
    both = doubled.keep(1, "")
    assert len(problems(both)) == 2
    done = decide_rest(both)
    assert problems(done) == [] and done.results() == [Span(4, 14, "DOCTOR")]
    assert [str(number) in problem for number, problem in enumerate(problems(todo), 1)] == [True] * 3
    assert decide_rest(todo).results() == todo.results()
