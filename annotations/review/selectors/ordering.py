"""In which order a run's notes are reviewed: by note, or by the open proposal that comes first by another order."""

from dataclasses import dataclass
from typing import Literal, get_args

from django.http import QueryDict

from annotations.domain.numbers import whole

Order = Literal["note", "uncertainty", "false", "label", "informative"]


@dataclass(frozen=True, slots=True)
class Queue:
    """How the notes follow each other; with a label, only notes where a proposal of it is open."""

    order: Order = "note"
    label: int | None = None

    @classmethod
    def of(cls, data: QueryDict) -> "Queue":
        """From an address; nonsense is the plain order."""
        order = data.get("order", "")
        return cls(order if order in get_args(Order) else "note", whole(data.get("label", "")))  # type: ignore[arg-type]  # just looked at

    @property
    def plain(self) -> bool:
        return self.order == "note" and self.label is None
