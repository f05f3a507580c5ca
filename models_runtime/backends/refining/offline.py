"""The offline agent: it decides without a language model, first by validators, then by memory and a model of gold.

It keeps what nothing clearly tells, because a missed identifier is worse than a wrong one. The memory of a note: equal
strings have the label that the rules find at any of them, and those with the same label are decided together.
"""

import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pycrfsuite

from annotations.release.rules.redaction.policy import IdentifierType, kind_of
from annotations.text.search import folded
from annotations.text.spans import Span
from models_runtime.backends.notes import Note
from models_runtime.backends.refining import candidates
from models_runtime.backends.refining.logistic import DecisionExample, Logistic, Vocabulary, fit
from models_runtime.backends.refining.todo import DecisionRefused, Todo, decide_rest
from models_runtime.backends.refining.validators import NO_IDENTIFIER, validate
from models_runtime.backends.rule_tags import rules_for
from models_runtime.backends.rules.gazetteers import RuleKind, label_table, places

# Two logistic models that tell what a stretch of a note is: an identifier or not, and if so, with which label.
#
# They learn from gold. Whether it is an identifier is learned from all examples, and the label from the gold spans
# alone. crfsuite fits the model of labels: a sequence of one item is a multinomial logistic regression.


NOTHING: Final = "-"
"""The class of stretches that are not identifiers; no label code is a single hyphen."""
_PARAMS: Final[dict[str, Any]] = {"c1": 0.0, "c2": 0.3, "max_iterations": 40}
FEWEST: Final = 50
"""Gold spans without which nothing is learned."""


class SpanModel:
    """Probabilities of all classes for a stretch of a note."""

    def __init__(self, identifier: Logistic, labels: Path) -> None:
        self._identifier = identifier
        self._labels = pycrfsuite.Tagger()
        self._labels.open(str(labels))
        self._classes = self._labels.labels()

    def probabilities(self, own: candidates.AnalyzedNote, start: int, end: int) -> dict[str, float]:
        """The probability of each class, which sum to 1."""
        found = candidates.features(own, start, end)
        identifier = self._identifier.probability(found)
        self._labels.set([found])
        labels = {one: identifier * self._labels.marginal(one, 0) for one in self._classes}
        return {NOTHING: 1 - identifier, **labels}


@dataclass(frozen=True)
class Taught:
    """What a note with gold teaches: about identifiers, the labels of gold spans, and begins and ends."""

    identifiers: list[DecisionExample]
    labels: list[tuple[pycrfsuite.ItemSequence, str]]
    ends: list[DecisionExample]


@dataclass(frozen=True)
class LearnedStretches:
    """What was learned from gold: what a stretch is, and where it begins and ends."""

    labels: SpanModel
    ends: Logistic


# Chosen on MEDDOCAN train (docs/refinement.md). Higher ones catch less and change less gold.
REMOVE_ABOVE: Final = 0.999
"""The mean probability of no identifier above which an annotation is removed."""
CHANGE_ABOVE: Final = 0.75
"""The mean probability of another label, among all labels, above which the label is changed."""
ODDS: Final = 100.0
"""So many times likelier than its label must the other one be."""
# Words that describe a person, and numbers: only what they stand for tells one label from another.
_DESCRIPTIONS: Final = {IdentifierType.FAMILY, IdentifierType.SEX, IdentifierType.ETHNICITY, IdentifierType.OTHER}
_TAKEN_FOR_PLACES: Final = (IdentifierType.ORGANIZATION, IdentifierType.REGION, IdentifierType.ZIP)
_NAMES: Final = {IdentifierType.NAME, IdentifierType.STAFF}
# "Ana Gil, 63 años", "GIL, ANA  61M", "Ana Gil / SIP 6603318"
_OF_PATIENT: Final = re.compile(
    r"(?i)[ ]?[,;(|/]?[ ]{0,4}(?:[0-9]{1,3}[ ]?(?:años|years?|anni|yo\b|y/o|y\.o|[mfvh]\b)|"
    r"(?:mrn|nhc|nhs|sip|dob|n\.?h\.?c|fecha de nac|nat[oa] il)\b)"
)
_LINES: Final = {IdentifierType.PHONE, IdentifierType.FAX}
_NUMBERS: Final = {
    IdentifierType.ID, IdentifierType.NATIONAL_ID, IdentifierType.RECORD, IdentifierType.HEALTH_PLAN,
    IdentifierType.ACCOUNT, IdentifierType.LICENSE, IdentifierType.DEVICE, IdentifierType.VEHICLE,
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
        self._labels = label_table(self._rules.label_set)
        # The features of stretches, and of begins and ends.
        self._spans, self._ends = Vocabulary(), Vocabulary()

    def examples(self, text: str, gold: Sequence[Span]) -> Taught:
        """What a note with gold teaches: its gold spans, stretches that are no identifiers, right and wrong ends."""
        own, identifiers, labels = candidates.read_note(text, self._rules), [], []
        for span in gold:
            found = candidates.features(own, span.start, span.end)
            identifiers.append(DecisionExample(self._spans.add(found), True))
            labels.append((pycrfsuite.ItemSequence([found]), span.label))
        for bounds in candidates.not_gold(own, gold, candidates.MOST_EXAMPLES * max(len(gold), 5)):
            identifiers.append(DecisionExample(self._spans.add(candidates.features(own, *bounds)), False))
        return Taught(identifiers, labels, candidates.end_examples(own.note, gold, self._ends))

    def learn(self, notes: Iterable[Taught]) -> LearnedStretches | None:
        """Learn from the examples of notes. None for fewer than FEWEST gold spans. Deterministic."""
        known = list(notes)
        if sum(len(note.labels) for note in known) < FEWEST:
            return None
        trainer = pycrfsuite.Trainer(algorithm="lbfgs", params=_PARAMS, verbose=False)
        for note in known:
            for items, one in note.labels:
                trainer.append(items, [one])
        identifier = fit(self._spans, [one for note in known for one in note.identifiers])
        ends = fit(self._ends, [one for note in known for one in note.ends])
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "model")
            trainer.train(str(file))
            return LearnedStretches(SpanModel(identifier, file), ends)

    def refine(self, todo: Todo, model: LearnedStretches | None) -> Todo:
        """Decide about every annotation of a note; without a model, by the validators and the rules alone."""
        own = candidates.read_note(todo.text, self._rules)
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
                found = {own.rules[place]} if place in own.sure else heard[string] or self._told(todo, own, number)
                todo = _decided(todo, number, chances, "".join(found) if len(found) == 1 else "")
        if model is not None:
            for item in todo.items:
                todo = _with_ends(todo, item.number, own.note, model.ends)
        return decide_rest(todo)

    def _told(self, todo: Todo, own: candidates.AnalyzedNote, number: int) -> set[str]:
        """The labels that the rules have for the annotation's text, if they don't find just this; empty without one.

        A listed place that is labeled as an organization, a region or a ZIP code; an organization that is at least half
        of a hospital, or a name at least half of a sure one, or the other way around; a name before what only the
        patient's is followed by.
        """
        span = todo.item(number).span
        kind, _common = places().get(todo.text[span.start : span.end].lower(), (None, False))
        labeled = kind_of(span.label)
        if kind and labeled in _TAKEN_FOR_PLACES and (code := self._labels.get(kind)):
            return {code}
        kinds = {IdentifierType.HOSPITAL} if labeled is IdentifierType.ORGANIZATION else _NAMES & {labeled} and _NAMES
        found = {
            label
            for (start, end), label in own.rules.items()
            if kind_of(label) in kinds
            and 2 * (min(end, span.end) - max(start, span.start)) >= max(end, span.end) - min(start, span.start)
            and (labeled not in _NAMES or (start, end) in own.sure)
        }
        patient = self._labels.get(RuleKind.PATIENT)
        if labeled in _NAMES and patient and _OF_PATIENT.match(todo.text, span.end):
            found = {patient}
        return found


def _with_ends(todo: Todo, number: int, note: Note, model: Logistic) -> Todo:
    """Move a begin or an end that is clearly wrong to one nearby that is clearly right; by itself, not by memory."""
    item = todo.item(number)
    for last in (False, True):
        span = item.result
        if span is None:
            return todo
        chances = candidates.end_chances(model, note, span, last)
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
        except DecisionRefused:  # The new bounds reach another annotation.
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
