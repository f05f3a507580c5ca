"""The offline agent: it decides by a model learned from gold, without a language model.

It keeps what the model can't clearly tell, because a missed identifier is worse than a wrong one. Equal strings with
the same label in a note are decided together: the memory of a note.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from annotations.domain.folding import folded
from annotations.domain.refining.finishing import settled
from annotations.domain.refining.todo import Refused, Todo
from annotations.domain.spans import Span
from models_runtime.backends.notes.note import Note
from models_runtime.backends.notes.rule_tags import rules_for
from models_runtime.backends.refining.candidates import read_note
from models_runtime.backends.refining.ends import EndsModel
from models_runtime.backends.refining.learned import NOTHING, Learned, Taught, Vocabularies, examples, learn

# Chosen on MEDDOCAN train, except that the first one was raised from 0.94 after a measurement on dev
# (docs/refinement.md). Higher ones catch less and change less gold.
REMOVE_ABOVE: Final = 0.97
"""The mean probability of no identifier above which an annotation is removed."""
CHANGE_ABOVE: Final = 0.75
"""The mean probability of another label, among all labels, above which the label is changed."""
ODDS: Final = 100.0
"""So many times likelier than its label must the other one be."""
WRONG_BELOW: Final = 0.1
"""The probability that a begin or an end is right below which it may move."""
MOVE_ABOVE: Final = 0.8
"""The probability of another begin or end nearby above which it moves there."""


class OfflineAgent:
    """Learns from gold, and decides about annotations. `label_set` is the key of the project's label set."""

    def __init__(self, label_set: str) -> None:
        self._rules = rules_for(label_set)
        self._vocabularies = Vocabularies.empty()

    def examples(self, text: str, gold: Sequence[Span]) -> Taught:
        """What a note with gold teaches, for `learn` of this agent."""
        return examples(read_note(text, self._rules), gold, self._vocabularies)

    def learn(self, notes: Iterable[Taught]) -> Learned | None:
        """Learn from the examples of notes. None if there are too few."""
        return learn(notes, self._vocabularies)

    def refine(self, todo: Todo, model: Learned) -> Todo:
        """Decide about every annotation of a note."""
        own = read_note(todo.text, self._rules)
        groups: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for item in todo.open():
            groups[folded(todo.text[item.span.start : item.span.end]), item.span.label].append(item.number)
        for (_string, label), numbers in groups.items():
            chances: defaultdict[str, float] = defaultdict(float)
            for number in numbers:
                span = todo.item(number).span
                for one, chance in model.labels.probabilities(own, span.start, span.end).items():
                    chances[one] += chance / len(numbers)
            for number in numbers:
                todo = _decided(todo, number, label, chances)
        for item in todo.items:
            todo = _with_ends(todo, item.number, own.note, model.ends)
        return settled(todo)


def _with_ends(todo: Todo, number: int, note: Note, model: EndsModel) -> Todo:
    """Move a begin or an end that is clearly wrong to one nearby that is clearly right; by itself, not by memory."""
    item = todo.item(number)
    for last in (False, True):
        span = item.result
        if span is None:
            return todo
        chances = model.chances(note, span, last)
        own = chances.get((span.start, span.end))
        best = max(chances, key=chances.__getitem__, default=None)
        if own is None or best is None or own >= WRONG_BELOW or chances[best] <= MOVE_ABOVE:
            continue
        side = "end" if last else "begin"
        reason = f"In gold of other patients, such text {side}s elsewhere ({1 - own:.0%})."
        if item.decision is not None and span.label != item.span.label:
            reason = f"{item.decision.reason} {reason}"
        try:
            todo = todo.update(number, reason, start=best[0], end=best[1], label=span.label)
        except Refused:  # The new bounds reach another annotation.
            continue
        item = todo.item(number)
    return todo


def _decided(todo: Todo, number: int, label: str, chances: "defaultdict[str, float]") -> Todo:
    nothing = chances[NOTHING]
    if nothing > REMOVE_ABOVE:
        return todo.remove(number, f"In gold of other patients, such text is no identifier ({nothing:.0%}).")
    best = max(
        (one for one in chances if one != NOTHING and one in todo.labels), key=chances.__getitem__, default=label
    )
    # A change of the label hides as much as before, so it needs to be sure of the label only, not of the identifier.
    among = sum(chances.values()) - nothing
    if best != label and chances[best] > CHANGE_ABOVE * among and chances[best] > ODDS * chances[label]:
        return todo.update(number, f"In gold of other patients, such text is {best} ({chances[best]:.0%}).", label=best)
    return todo.keep(number, f"Not clearly wrong: {label} {chances[label]:.0%}, no identifier {nothing:.0%}.")
