"""In which order a run's notes are reviewed: by note, or by the open proposal that comes first by another order."""

from dataclasses import dataclass
from typing import Literal, get_args

from django.http import QueryDict

Order = Literal["note", "uncertainty", "false", "label", "informative"]
_LABEL_DIGITS = 19


@dataclass(frozen=True, slots=True)
class Queue:
    """How the notes follow each other; with a label, only notes where a proposal of it is open."""

    order: Order = "note"
    label: int | None = None

    @classmethod
    def of(cls, data: QueryDict) -> "Queue":
        """From an address; nonsense is the plain order."""
        order = data.get("order", "")
        label = data.get("label", "")
        known = label.isascii() and label.isdecimal() and len(label) < _LABEL_DIGITS
        return cls(order if order in get_args(Order) else "note", int(label) if known else None)  # type: ignore[arg-type]  # just looked at

    @property
    def plain(self) -> bool:
        return self.order == "note" and self.label is None
