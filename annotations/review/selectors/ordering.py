"""The order in which the notes of a run are reviewed: by note id, or by the first open suggestion in another order."""

from dataclasses import dataclass
from typing import Literal, get_args

from django.http import QueryDict

from annotations.domain.numbers import whole

Order = Literal["note", "uncertainty", "false", "label", "informative"]


@dataclass(frozen=True, slots=True)
class Queue:
    """The order of the notes. With a label, only notes that have an open suggestion with that label."""

    order: Order = "note"
    label: int | None = None

    @classmethod
    def of(cls, data: QueryDict) -> "Queue":
        """Read the order from a query string. An unknown order becomes the order by note."""
        order = data.get("order", "")
        return cls(order if order in get_args(Order) else "note", whole(data.get("label", "")))  # type: ignore[arg-type]  # checked here

    @property
    def plain(self) -> bool:
        """Whether notes come one after the other. In all other orders they are chosen for their suggestions."""
        return self.order == "note" and self.label is None
