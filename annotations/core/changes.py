"""One change to an annotation set, as a page requests it, and the errors of a request that is not one.

A change is JSON: `change_id` (a UUID that the page makes), `kind`, `version` (of the page; optional) and by kind
    create           start, end, label, quote
    create_many      spans: a list of 1 to 2000 of {start, end, label, quote}
    relabel          span, seen, label
    resize           span, seen, start, end, quote
    delete           span, seen
    attribute        span, seen, name, value: the choice, true, or null to remove the attribute
    undo, redo       no further fields
`seen` is the span as the page shows it, `[start, end, label id]`. Offsets are code points, end-exclusive.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from pydantic import Field, TypeAdapter, ValidationError

from annotations.core.spans import ChangeRefused as ChangeRefused
from annotations.models import Event
from annotations.text.attributes import Value
from annotations.text.names import MAX_ID, MAX_OFFSET

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise

Shape = TypeVar("Shape")
MOST_AT_ONCE = 2000


class ChangeKind(StrEnum):
    CREATE = "create"
    CREATE_MANY = "create_many"
    RELABEL = "relabel"
    RESIZE = "resize"
    DELETE = "delete"
    ATTRIBUTE = "attribute"
    UNDO = "undo"
    REDO = "redo"


Whole = Annotated[int, Field(strict=True, ge=0, le=MAX_ID)]
Offset = Annotated[int, Field(strict=True, ge=0, le=MAX_OFFSET)]
_NO_SPAN: Final = (-1, -1, -1)


@dataclass(frozen=True, slots=True)
class WantedSpan:
    """A span to create, with the text that the page shows between its bounds."""

    start: Offset
    end: Offset
    label: Whole
    quote: str


@dataclass(frozen=True, slots=True)
class SpanEdit:
    """A well-formed change. `annotate.services.spans` checks whether it fits the annotation set.

    `exact`: the change is refused (`stale`, 412) unless the annotation set still has this `version`.
    """

    change_id: UUID
    kind: ChangeKind
    version: Whole | None = None
    exact: bool = False
    span: Whole = 0
    seen: tuple[Whole, Whole, Whole] = _NO_SPAN
    start: Offset = -1
    end: Offset = -1
    label: Whole = -1
    quote: str | None = None
    spans: Annotated[tuple[WantedSpan, ...], Field(min_length=1, max_length=MOST_AT_ONCE)] = ()
    name: str = ""
    value: Literal[True] | str | None = None

    @property
    def asked(self) -> list[int]:
        """The label ids that the change assigns."""
        return [self.label, *(wanted.label for wanted in self.spans)]

    @property
    def named(self) -> list[int]:
        """The label ids that the change assigns or that its `seen` holds."""
        return [*self.asked, self.seen[2]]


# The fields of each kind of change, beside its id and its version. All must be there, but `value` may be null.
_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    ChangeKind.CREATE: ("start", "end", "label", "quote"),
    ChangeKind.CREATE_MANY: ("spans",),
    ChangeKind.RELABEL: ("span", "seen", "label"),
    ChangeKind.RESIZE: ("span", "seen", "start", "end", "quote"),
    ChangeKind.DELETE: ("span", "seen"),
    ChangeKind.ATTRIBUTE: ("span", "seen", "name", "value"),
    ChangeKind.UNDO: (),
    ChangeKind.REDO: (),
}


def read_request(
    shape: TypeAdapter[Shape], choice: str, fields: Mapping[str, Iterable[str]], data: Mapping[str, Any],
    *, more: Iterable[str] = (),
) -> Shape:  # fmt: skip
    """Parse a request of a page's script. Raises Refused (`malformed`), naming the field.

    `fields` are those that each value of the field `choice` needs, beside the request's id; `more` may be missing.
    """
    needed = fields.get(str(data.get(choice)))
    if needed is None:
        raise not_one_of(choice, fields)
    given = {name: data.get(name) for name in ("change_id", choice, *needed)}
    missing = [name for name, value in given.items() if value is None and name != "value"]
    if missing:
        raise bad_field(missing[0])
    try:
        return shape.validate_python(given | {name: data[name] for name in more if name in data})
    except ValidationError as error:
        where = error.errors()[0]["loc"]
        raise bad_field(str(where[2] if len(where) > 2 and where[0] == "spans" else where[0])) from None


read_change = partial(read_request, TypeAdapter(SpanEdit), "kind", _FIELDS, more=["version"])
"""Parse a change from JSON. Raises Refused (`malformed`), naming the field."""


def malformed(sentence: "_StrOrPromise", **names: object) -> ChangeRefused:
    """Return the error for a request that a script should not have sent. `names` fill the sentence's placeholders."""
    return ChangeRefused("malformed", str(sentence) % names)


def not_one_of(field: str, choices: Iterable[str]) -> ChangeRefused:
    return malformed(_("The field “%(field)s” must be one of: %(choices)s."), field=field, choices=", ".join(choices))


def not_whole(field: str) -> ChangeRefused:
    return malformed(_("The field “%(field)s” must be a whole number, 0 or more."), field=field)


_MUST_BE: Final = {
    "change_id": _("The field “change_id” must be a UUID."),
    "name": _("The field “name” must be the name of an attribute."),
    "quote": _("The field “quote” must be the text of the span."),
    "seen": _("The field “seen” must be [start, end, label]."),
    "spans": _("The field “spans” must be a list of 1 to %(most)s objects."),
    "value": _("The field “value” must be a choice, true or null."),
}


def bad_field(field: str) -> ChangeRefused:
    """Return the error for a field of a change; a field without a sentence of its own is a whole number."""
    return malformed(_MUST_BE[field], most=MOST_AT_ONCE) if field in _MUST_BE else not_whole(field)


def change_id_of(data: Mapping[str, Any]) -> UUID:
    try:
        return UUID(data["change_id"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise bad_field("change_id") from None


def name_of(data: Mapping[str, Any]) -> str:
    """The name of the attribute that a change sets."""
    value = data.get("name")
    if not isinstance(value, str):
        raise bad_field("name")
    return value


def value_of(data: Mapping[str, Any]) -> Value | None:
    """The value that a change gives to an attribute: a choice or true; None removes the attribute."""
    value: object = data.get("value")
    if value is None or value is True or isinstance(value, str):
        return value
    raise bad_field("value")


# Unlimited undo and redo from the event log, so that they survive a reload of the page.
#
# Among one person's events on one annotation set, each is an act, an undo (of an act or a redo) or a redo (of an undo).
# This module finds the next event to undo or redo; each feature knows how to reverse its own events.


CHUNK = 100
UNDO, REDO = "undo", "redo"


def backwards(events: "QuerySet[Event]") -> Iterator[Event]:
    """Yield events, newest first, in chunks: the event to undo is usually among the newest."""
    rows = events.order_by("-id")
    last = None
    while True:
        chunk = list(rows.filter(pk__lt=last)[:CHUNK] if last else rows[:CHUNK])
        yield from chunk
        if len(chunk) < CHUNK:
            return
        last = chunk[-1].pk


def to_revert(events: Iterable[Event], *, key: str, redo: bool, skipped: str = "") -> Event | None:
    """Return the last act or redo that was not undone; with `redo`, the last undo that was not redone.

    After a new act there is nothing to redo. `events` come newest first; `key` is the entry of their data that says
    “undo”, “redo” or which act it was. An event with the verb `skipped` is an undo or redo that changed nothing.
    """
    reverted: set[int | None] = set()
    for event in events:
        step = event.data.get(key)
        if step == (REDO if redo else UNDO):
            reverted.add(event.reverts)
        elif redo and step != UNDO:
            return None
        # A skipped undo or redo counts as made, but there is nothing to reverse.
        elif event.verb != skipped and event.pk not in reverted:
            return event
    return None
