"""The offline agent: it decides without a language model, first by validators, then by memory and a model of gold.

It keeps what nothing clearly tells, because a missed identifier is worse than a wrong one. The memory of a note: equal
strings have the label that the rules find at any of them, and those with the same label are decided together.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from annotations.release.rules.redaction.kinds import Kind, kind_of
from annotations.text.folding import folded
from annotations.text.spans import Span
from models_runtime.backends.notes.note import Note
from models_runtime.backends.notes.rule_tags import rules_for
from models_runtime.backends.refining.candidates import read_note
from models_runtime.backends.refining.ends import EndsModel
from models_runtime.backends.refining.finishing import settled
from models_runtime.backends.refining.learned import NOTHING, Learned, Taught, Vocabularies, examples, learn
from models_runtime.backends.refining.todo import Refused, Todo
from models_runtime.backends.refining.validators import NO_IDENTIFIER, validate
from models_runtime.backends.rules.gazetteers import places
from models_runtime.backends.rules.labels import table

# Chosen on MEDDOCAN train (docs/refinement.md). Higher ones catch less and change less gold.
REMOVE_ABOVE: Final = 0.999
"""The mean probability of no identifier above which an annotation is removed."""
CHANGE_ABOVE: Final = 0.75
"""The mean probability of another label, among all labels, above which the label is changed."""
ODDS: Final = 100.0
"""So many times likelier than its label must the other one be."""
# Words that describe a person, and numbers: only what they stand for tells one label from another.
_DESCRIPTIONS: Final = {Kind.FAMILY, Kind.SEX, Kind.ETHNICITY, Kind.OTHER}
_TAKEN_FOR_PLACES: Final = (Kind.ORGANIZATION, Kind.REGION, Kind.ZIP)
_LINES: Final = {Kind.PHONE, Kind.FAX}
_NUMBERS: Final = {
    Kind.ID, Kind.NATIONAL_ID, Kind.RECORD, Kind.HEALTH_PLAN, Kind.ACCOUNT, Kind.LICENSE, Kind.DEVICE, Kind.VEHICLE,
}  # fmt: skip
CONFIRMED: Final = 0.5
"""The mean probability of its label, among all labels, above which the label stays although the rules know another."""
WRONG_BELOW: Final = 0.05
"""The probability that a begin or an end is right below which it may move."""
MOVE_ABOVE: Final = 0.9
"""The probability of another begin or end nearby above which it moves there."""


class OfflineAgent:
    """Learns from gold, and decides about annotations. `label_set` is the key of the project's label set."""

    def __init__(self, label_set: str) -> None:
        self._rules = rules_for(label_set)
        self._labels = table(self._rules.label_set)
        self._vocabularies = Vocabularies.empty()

    def examples(self, text: str, gold: Sequence[Span]) -> Taught:
        """What a note with gold teaches, for `learn` of this agent."""
        return examples(read_note(text, self._rules), gold, self._vocabularies)

    def learn(self, notes: Iterable[Taught]) -> Learned | None:
        """Learn from the examples of notes. None if there are too few."""
        return learn(notes, self._vocabularies)

    def refine(self, todo: Todo, model: Learned | None) -> Todo:
        """Decide about every annotation of a note; without a model, by the validators and the rules alone."""
        own = read_note(todo.text, self._rules)
        heard: defaultdict[str, set[str]] = defaultdict(set)
        for start, end in own.sure:
            heard[folded(todo.text[start:end])].add(own.rules[start, end])
        groups: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for item in todo.open():
            groups[folded(todo.text[item.span.start : item.span.end]), item.span.label].append(item.number)
        for (string, _label), numbers in groups.items():
            bounds = [(todo.item(number).span.start, todo.item(number).span.end) for number in numbers]
            chances: defaultdict[str, float] = defaultdict(float)
            if model is not None:
                for start, end in bounds:
                    for one, chance in model.labels.probabilities(own, start, end).items():
                        chances[one] += chance / len(numbers)
            for number, place in zip(numbers, bounds, strict=True):
                found = {own.rules[place]} if place in own.sure else heard[string] or self._listed(todo, number)
                todo = _decided(todo, number, chances, "".join(found) if len(found) == 1 else "")
        if model is not None:
            for item in todo.items:
                todo = _with_ends(todo, item.number, own.note, model.ends)
        return settled(todo)

    def _listed(self, todo: Todo, number: int) -> set[str]:
        """The label of a listed place that is labeled as an organization, a region or a ZIP code; empty without one."""
        span = todo.item(number).span
        kind, _common = places().get(todo.text[span.start : span.end].lower(), (None, False))
        code = self._labels.get(kind) if kind and kind_of(span.label) in _TAKEN_FOR_PLACES else None
        return {code} if code else set()


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


def _may_become(label: str, told: str) -> bool:
    """Whether the rules may change a label into another one, of which its form or its context is evidence."""
    kinds = {kind_of(label), kind_of(told)}
    return label != told and kinds.isdisjoint(_DESCRIPTIONS) and not kinds <= _NUMBERS and not kinds <= _LINES


def _decided(todo: Todo, number: int, chances: Mapping[str, float], told: str) -> Todo:
    """`told`: the label that the rules find there or at an equal string, empty without one."""
    span = todo.item(number).span
    label = span.label
    rejected = next((check for check in validate(todo.text, span) if check.name == NO_IDENTIFIER), None)
    if rejected is not None:
        return todo.remove(number, rejected.detail)
    nothing = chances.get(NOTHING, 0.0)
    among = sum(chances.values()) - nothing
    if told in todo.labels and _may_become(label, told) and chances.get(label, 0.0) <= CONFIRMED * among:
        return todo.update(number, f"The rules know such text as {told} by its form and its context.", label=told)
    if not chances or told == label:
        return todo.keep(number, f"The rules find {label}, too." if told == label else "No rule speaks against it.")
    if nothing > REMOVE_ABOVE:
        return todo.remove(number, f"In gold of other patients, such text is no identifier ({nothing:.0%}).")
    best = max(
        (one for one in chances if one != NOTHING and one in todo.labels), key=chances.__getitem__, default=label
    )
    # A change of the label hides as much as before, so it needs to be sure of the label only, not of the identifier.
    if best != label and chances[best] > CHANGE_ABOVE * among and chances[best] > ODDS * chances[label]:
        return todo.update(number, f"In gold of other patients, such text is {best} ({chances[best]:.0%}).", label=best)
    return todo.keep(number, f"Not clearly wrong: {label} {chances[label]:.0%}, no identifier {nothing:.0%}.")
