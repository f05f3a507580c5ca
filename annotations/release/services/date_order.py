"""Whether the day or the month comes first in dates in figures."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Final

from annotations.release.rules.redaction.date_reading import order_of
from annotations.release.rules.redaction.kinds import IdentifierType
from annotations.release.rules.redaction.policy import Policy
from annotations.release.services.replacing import Original

DAY_FIRST: Final = ("es", "it")
"""Languages in which the day always comes before the month."""


class DateOrder:
    """The order that the unambiguous dates of a note tell, else those of its patient, else those of the project."""

    def __init__(self, policy: Policy, first: Callable[[], Sequence[Original]]) -> None:
        """`first` reads the first notes of the release."""
        self._dates = frozenset(code for code, rule in policy.rules.items() if rule.kind is IdentifierType.DATE)
        self._first = first

    def month_first(self, note: Original, notes: Sequence[Original]) -> bool | None:
        """Whether the month comes first; None if nothing tells it. `notes`: all notes of the patient are among them."""
        order = self._order_in([note])
        if order is None and note.patient:
            order = self._order_in([one for one in notes if one.patient == note.patient])
        return self._of_project if order is None and note.language not in DAY_FIRST else order

    def _order_in(self, notes: Iterable[Original]) -> bool | None:
        found = {
            order
            for note in notes
            for span in note.spans
            if span.label in self._dates and (order := order_of(note.text[span.start : span.end])) is not None
        }
        return found.pop() if len(found) == 1 else None

    @cached_property
    def _of_project(self) -> bool | None:
        return self._order_in(self._first())
