"""The to-do list of a refinement: one item for each annotation of a note, and what was decided about it.

A to-do list never changes: deciding returns a new one. Offsets are code points, end-exclusive.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from annotations.text.names import keepable
from annotations.text.spans import Span, SpanError, check_bounds, checked, overlaps

LONGEST_REASON: Final = 500
"""Characters of a reason; the rest is cut."""


class Action(StrEnum):
    """What a refiner does with an annotation."""

    KEEP = "keep"
    UPDATE = "update"
    REMOVE = "remove"


class DecisionRefused(ValueError):
    """A decision that is not possible. The message is a sentence with numbers and labels, and no text of the note."""


@dataclass(frozen=True, slots=True)
class RefinementDecision:
    """`start`, `end` and `label` hold after the decision; of a removal they are the annotation's own.

    `step` counts the decisions of a note from 1.
    """

    action: Action
    start: int
    end: int
    label: str
    reason: str
    step: int


@dataclass(frozen=True, slots=True)
class Item:
    """An annotation with its number in the list, from 1 in the order of the note. Open without a decision."""

    number: int
    span: Span
    decision: RefinementDecision | None = None

    @property
    def is_open(self) -> bool:
        return self.decision is None

    @property
    def result(self) -> Span | None:
        """The annotation after the decision: None if it was removed, the original while it is open."""
        if self.decision is None:
            return self.span
        if self.decision.action is Action.REMOVE:
            return None
        return replace(self.span, start=self.decision.start, end=self.decision.end, label=self.decision.label)


@dataclass(frozen=True, slots=True)
class Todo:
    """The to-do list of one note. `labels` are the label codes that annotations may have."""

    text: str
    items: tuple[Item, ...]
    labels: frozenset[str]

    @classmethod
    def of(cls, text: str, spans: Iterable[Span], labels: Iterable[str]) -> "Todo":
        """A new list. Of annotations with the same bounds and label, the first one is an item."""
        own = sorted({span: span for span in reversed(list(spans))}.values())
        return cls(text, tuple(Item(number, span) for number, span in enumerate(own, 1)), frozenset(labels))

    def item(self, number: int) -> Item:
        """Raises Refused for a number that no item has."""
        if not 1 <= number <= len(self.items):
            raise DecisionRefused(f"There is no annotation {number}. The list has {len(self.items)}.")
        return self.items[number - 1]

    def open(self) -> list[Item]:
        return [item for item in self.items if item.is_open]

    def done(self) -> list[Item]:
        """The decided items, in the order of the decisions."""
        return sorted((item for item in self.items if item.decision), key=lambda item: _step(item))

    def results(self) -> list[Span]:
        """The annotations after all decisions, in order."""
        return sorted(span for item in self.items if (span := item.result) is not None)

    def keep(self, number: int, reason: str) -> "Todo":
        """Keep an annotation as it is."""
        return self._decided(number, Action.KEEP, self.item(number).span, reason)

    def remove(self, number: int, reason: str) -> "Todo":
        """Remove an annotation."""
        return self._decided(number, Action.REMOVE, self.item(number).span, reason)

    def update(
        self, number: int, reason: str, *, start: int | None = None, end: int | None = None, label: str | None = None
    ) -> "Todo":
        """Change an annotation's bounds or label; what is None stays. Without any change, it is kept.

        The new bounds must overlap the old ones, and no other annotation that the old ones don't overlap. White space
        at the ends is left out. Raises DecisionRefused.
        """
        item = self.item(number)
        old = item.span
        wanted = replace(
            old,
            start=old.start if start is None else start,
            end=old.end if end is None else end,
            label=old.label if label is None else label,
        )
        if wanted.label not in self.labels:
            raise DecisionRefused(f"There is no label “{wanted.label[:40]}”. Labels: {', '.join(sorted(self.labels))}.")
        try:
            wanted = checked(self.text, wanted)
        except SpanError as error:
            raise DecisionRefused(str(error)) from None
        if not overlaps(wanted, old):
            raise DecisionRefused(f"The new bounds {wanted.start}-{wanted.end} don't overlap {old.start}-{old.end}.")
        reached = [
            other.number
            for other in self.items
            if other is not item and overlaps(wanted, other.span) and not overlaps(old, other.span)
        ]
        if reached:
            raise DecisionRefused(
                f"The new bounds {wanted.start}-{wanted.end} reach annotation {reached[0]}. Nothing may be joined."
            )
        action = Action.KEEP if wanted == old else Action.UPDATE
        return self._decided(number, action, wanted, reason)

    def reopen(self, number: int) -> "Todo":
        """Take the decision about an annotation back."""
        return self._with(replace(self.item(number), decision=None))

    def _decided(self, number: int, action: Action, span: Span, reason: str) -> "Todo":
        step = 1 + max((_step(item) for item in self.items), default=0)
        # A model's JSON can escape characters that no database keeps.
        words = keepable(" ".join(reason.split())[:LONGEST_REASON])
        decision = RefinementDecision(action, span.start, span.end, span.label, words, step)
        return self._with(replace(self.item(number), decision=decision))

    def _with(self, item: Item) -> "Todo":
        items = (*self.items[: item.number - 1], item, *self.items[item.number :])
        return replace(self, items=items)


def _step(item: Item) -> int:
    return item.decision.step if item.decision else 0


# The last check of a to-do list, before its results become an annotation set.


def problems(todo: Todo) -> list[str]:
    """What is wrong with a to-do list, as sentences for the agent; empty if the note is finished.

    Open annotations, bounds outside the text, unknown labels, duplicates, and results far from their annotation.
    """
    return [*still_open(todo), *faults(todo)]


def still_open(todo: Todo) -> list[str]:
    """A sentence for each annotation without a decision."""
    return [f"Annotation {item.number} is still open." for item in todo.open()]


def faults(todo: Todo) -> list[str]:
    """What is wrong with the results, whether all are decided or not."""
    found = []
    results = {item.number: span for item in todo.items if (span := item.result) is not None}
    for number, span in results.items():
        try:
            check_bounds(span, len(todo.text))
        except SpanError as error:
            found.append(f"Annotation {number}: {error}")
        if span.label not in todo.labels:
            found.append(f"Annotation {number} has the unknown label “{span.label}”.")
        if not overlaps(span, todo.item(number).span):
            found.append(f"Annotation {number} no longer overlaps its original.")
    counted = Counter(results.values())
    found += [
        f"Annotation {number} is equal to another one. Remove one of them."
        for number, span in results.items()
        if counted[span] > 1
    ]
    return found


def decide_rest(todo: Todo) -> Todo:
    """Decide what no refiner decided: an open annotation stays, and of equal results the first one stays.

    The results of a settled list have no problem.
    """
    for item in todo.open():
        todo = todo.keep(item.number, "No decision was made, so the annotation stays.")
    seen: dict[Span, int] = {}
    for item in todo.items:
        span = item.result
        if span is not None and seen.setdefault(span, item.number) != item.number:
            todo = todo.remove(item.number, f"The same as annotation {seen[span]}.")
    return todo
