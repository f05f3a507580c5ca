"""The order in which the notes of a run are reviewed: by note id, or by the first open suggestion in another order."""

from dataclasses import dataclass
from typing import Literal, get_args

from django.http import QueryDict

from annotations.text.names import whole

# How the open note was chosen, in the address of its page.
CHOSEN = "chosen"
Order = Literal["note", "uncertainty", "false", "label", "informative"]


@dataclass(frozen=True, slots=True)
class NoteOrder:
    """The order of the notes. With a label, only notes that have an open suggestion with that label."""

    order: Order = "note"
    label: int | None = None

    @classmethod
    def of(cls, data: QueryDict) -> "NoteOrder":
        """Read the order from a query string. An unknown order becomes the order by note."""
        order = data.get("order", "")
        return cls(order if order in get_args(Order) else "note", whole(data.get("label", "")))  # type: ignore[arg-type]  # checked here

    @classmethod
    def that_chose(cls, data: QueryDict) -> "NoteOrder":
        """The order that chose the open note, as its page's query string has it (`chosen`).

        A page that was opened otherwise has none, so it is the order by note. The filters of the page, which may name
        another order for the next note, don't matter.
        """
        order = data.get(CHOSEN, "")
        return cls(order if order in get_args(Order) else "note")  # type: ignore[arg-type]  # checked here

    @property
    def chosen(self) -> dict[str, str]:
        """The parameter of `that_chose` for a note that this order chose; empty if it is plain."""
        return {} if self.plain else {CHOSEN: "label" if self.order == "note" else self.order}

    @property
    def plain(self) -> bool:
        """Whether notes come one after the other. In all other orders they are chosen for their suggestions."""
        return self.order == "note" and self.label is None
