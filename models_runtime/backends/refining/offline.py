"""The offline agent: it decides by a model learned from gold, without a language model.

It keeps what the model can't clearly tell, because a missed identifier is worse than a wrong one. Equal strings with
the same label in a note are decided together: the memory of a note.
"""

from collections import defaultdict
from typing import Final

from annotations.domain.folding import folded
from annotations.domain.refining.finishing import settled
from annotations.domain.refining.todo import Todo
from models_runtime.backends.refining.candidates import Read
from models_runtime.backends.refining.learned import NOTHING, SpanModel

REMOVE_ABOVE: Final = 0.95
"""The mean probability of no identifier above which an annotation is removed."""
CHANGE_ABOVE: Final = 0.75
"""The mean probability of another label, among all labels, above which the label is changed."""
ODDS: Final = 5.0
"""So many times likelier than its label must the other one be."""


def refine(todo: Todo, own: Read, model: SpanModel) -> Todo:
    """Decide about every annotation of a note."""
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
