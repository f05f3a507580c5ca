"""The offline agent: it decides by a model learned from gold, without a language model.

It keeps what the model can't clearly tell, because a missed identifier is worse than a wrong one. Equal strings with
the same label in a note are decided together: the memory of a note.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from annotations.domain.folding import folded
from annotations.domain.refining.finishing import settled
from annotations.domain.refining.todo import Todo
from annotations.domain.spans import Span
from models_runtime.backends.notes.rule_tags import rules_for
from models_runtime.backends.refining.candidates import read_note
from models_runtime.backends.refining.learned import NOTHING, Example, SpanModel, examples, learn

REMOVE_ABOVE: Final = 0.95
"""The mean probability of no identifier above which an annotation is removed."""
CHANGE_ABOVE: Final = 0.75
"""The mean probability of another label, among all labels, above which the label is changed."""
ODDS: Final = 5.0
"""So many times likelier than its label must the other one be."""


class OfflineAgent:
    """Learns from gold, and decides about annotations. `label_set` is the key of the project's label set."""

    def __init__(self, label_set: str) -> None:
        self._rules = rules_for(label_set)

    def examples(self, text: str, gold: Sequence[Span]) -> list[Example]:
        """What a note with gold teaches, for `learn`."""
        return examples(read_note(text, self._rules), gold)

    def learn(self, notes: Iterable[Sequence[Example]]) -> SpanModel | None:
        """Learn from the examples of notes. None if there are too few."""
        return learn(notes)

    def refine(self, todo: Todo, model: SpanModel) -> Todo:
        """Decide about every annotation of a note."""
        own = read_note(todo.text, self._rules)
        groups: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for item in todo.open():
            groups[folded(todo.text[item.span.start : item.span.end]), item.span.label].append(item.number)
        for (_string, label), numbers in groups.items():
            chances: defaultdict[str, float] = defaultdict(float)
            for number in numbers:
                span = todo.item(number).span
                for one, chance in model.probabilities(own, span.start, span.end).items():
                    chances[one] += chance / len(numbers)
            for number in numbers:
                todo = _decided(todo, number, label, chances)
        return settled(todo)


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
