"""One change to an annotation set, as a page requests it, and the errors that can answer it.

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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.spans import SpanItem
from annotations.models import Event, Span
from annotations.models.prepared import PreparedRead
from annotations.text.attributes import Value
from annotations.text.names import MAX_ID, MAX_OFFSET, is_whole
from annotations.text.spans import DEEPEST, MOST_SPANS, Bounds, Crowd, crowd_over

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise

LabeledBounds = tuple[int, int, int]
"""A span's start, end and label id."""
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


class Refused(ServiceError):
    """The change was refused; nothing was stored. `status` is the HTTP status of the answer.

    A conflict (409) carries the current annotation set, so that the page can show it.
    """

    def __init__(self, code: str, message: str, *, status: int = 400) -> None:
        super().__init__(message, code=code)
        self.status = status
        self.version: int | None = None
        self.state: str | None = None
        self.spans: list[SpanItem] | None = None


@dataclass(frozen=True, slots=True)
class WantedSpan:
    """A span to create, with the text that the page shows between its bounds."""

    start: int
    end: int
    label: int
    quote: str


@dataclass(frozen=True, slots=True)
class SpanEdit:
    """A well-formed change. `annotate.services.spans` checks whether it fits the annotation set.

    `exact`: the change is refused (`stale`, 412) unless the annotation set still has this `version`.
    """

    change_id: UUID
    kind: ChangeKind
    version: int | None = None
    exact: bool = False
    span: int | None = None
    seen: LabeledBounds | None = None
    start: int = -1
    end: int = -1
    label: int = -1
    quote: str | None = None
    spans: tuple[WantedSpan, ...] = ()
    name: str = ""
    value: Value | None = None

    @property
    def asked(self) -> list[int]:
        """The label ids that the change assigns."""
        return [self.label, *(wanted.label for wanted in self.spans)]

    @property
    def named(self) -> list[int]:
        """The label ids that the change assigns or that its `seen` holds."""
        return [*self.asked, *([] if self.seen is None else self.seen[2:])]


def read_change(data: object) -> SpanEdit:
    """Parse a change from JSON. Raises Refused (`malformed`), naming the field."""
    if not isinstance(data, Mapping):
        raise malformed(_("A change must be a JSON object."))
    try:
        kind = ChangeKind(str(data.get("kind")))
    except ValueError:
        raise not_one_of("kind", ChangeKind) from None
    moves = kind in (ChangeKind.CREATE, ChangeKind.RESIZE)
    names = kind in (ChangeKind.RELABEL, ChangeKind.RESIZE, ChangeKind.DELETE, ChangeKind.ATTRIBUTE)
    return SpanEdit(
        change_id=change_id_of(data),
        kind=kind,
        version=None if data.get("version") is None else _number(data, "version"),
        span=_number(data, "span") if names else None,
        seen=_seen(data) if names else None,
        start=_number(data, "start") if moves else -1,
        end=_number(data, "end") if moves else -1,
        label=_number(data, "label") if kind in (ChangeKind.CREATE, ChangeKind.RELABEL) else -1,
        quote=_quote(data) if moves else None,
        spans=_spans(data) if kind is ChangeKind.CREATE_MANY else (),
        name=name_of(data) if kind is ChangeKind.ATTRIBUTE else "",
        value=value_of(data) if kind is ChangeKind.ATTRIBUTE else None,
    )


def malformed(sentence: "_StrOrPromise", **names: object) -> Refused:
    """Return the error for a request that a script should not have sent. `names` fill the sentence's placeholders."""
    return Refused("malformed", str(sentence) % names)


def not_one_of(field: str, choices: Iterable[str]) -> Refused:
    return malformed(_("The field “%(field)s” must be one of: %(choices)s."), field=field, choices=", ".join(choices))


def not_whole(field: str) -> Refused:
    return malformed(_("The field “%(field)s” must be a whole number, 0 or more."), field=field)


def change_id_of(data: Mapping[str, Any]) -> UUID:
    try:
        return UUID(data["change_id"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise malformed(_("The field “change_id” must be a UUID.")) from None


def _number(data: Mapping[str, Any], field: str) -> int:
    value: object = data.get(field)
    if not is_whole(value, MAX_OFFSET if field in ("start", "end") else MAX_ID):
        raise not_whole(field)
    return value


def _spans(data: Mapping[str, Any]) -> tuple[WantedSpan, ...]:
    given = data.get("spans")
    if (
        not isinstance(given, list)
        or not 1 <= len(given) <= MOST_AT_ONCE
        or not all(isinstance(span, Mapping) for span in given)
    ):
        raise malformed(_("The field “spans” must be a list of 1 to %(most)s objects."), most=MOST_AT_ONCE)
    return tuple(
        WantedSpan(_number(span, "start"), _number(span, "end"), _number(span, "label"), _quote(span)) for span in given
    )


def _seen(data: Mapping[str, Any]) -> LabeledBounds:
    value = data.get("seen")
    if not isinstance(value, list | tuple) or len(value) != 3 or not all(is_whole(part) for part in value):
        raise malformed(_("The field “seen” must be [start, end, label]."))
    return value[0], value[1], value[2]


def name_of(data: Mapping[str, Any]) -> str:
    """The name of the attribute that a change sets."""
    value = data.get("name")
    if not isinstance(value, str):
        raise malformed(_("The field “name” must be the name of an attribute."))
    return value


def value_of(data: Mapping[str, Any]) -> Value | None:
    """The value that a change gives to an attribute: a choice or true; None removes the attribute."""
    value: object = data.get("value")
    if value is None or value is True or isinstance(value, str):
        return value
    raise malformed(_("The field “value” must be a choice, true or null."))


def _quote(data: Mapping[str, Any]) -> str:
    value = data.get("quote")
    if not isinstance(value, str):
        raise malformed(_("The field “quote” must be the text of the span."))
    return value


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


# The limits on the spans of one annotation set (annotations.text.spans), checked wherever people write spans.


# Counts the spans of the set, and those that share a character with the new ones, in one index scan.
_AROUND = PreparedRead(
    lambda held, start, end: (
        Span.objects.filter(annotation_set_id=held)
        .order_by()
        .values("annotation_set_id")
        .annotate(number=Count("start"), near=Count("start", filter=Q(start__lt=end, end__gt=start)))
        .values_list("number", "near")
    ),
    int,
    int,
    int,
)


def check_room(annotation_set_id: int, written: Sequence[Bounds], *, more: bool = True) -> None:
    """Raise Refused (`room`, 422) where the set holds too many spans after spans were written at these bounds.

    Call it in the transaction that wrote, which the error rolls back. `more`: spans were added, not only moved. Sets
    that were too large before the limit existed can still be corrected.
    """
    if not written:
        return
    least, most = min(start for start, _ in written), max(end for _, end in written)
    number, near = _AROUND.first(annotation_set_id, least, most) or (0, 0)
    if more and number > MOST_SPANS:
        raise _refused(Crowd(number))
    if near <= DEEPEST:
        return
    held = Span.objects.filter(annotation_set_id=annotation_set_id, start__lt=most, end__gt=least).order_by()
    crowd = crowd_over(held.values_list("start", "end"), written)
    if crowd is not None:
        raise _refused(crowd)


def _refused(crowd: Crowd) -> Refused:
    if crowd.at is None:
        message = _(
            "Not saved: an annotation set holds at most %(most)s spans on one note. Delete some, then try again."
        ) % {"most": f"{MOST_SPANS:,}"}
    else:
        message = _(
            "Not saved: at most %(most)s spans may cover one character. Delete a span here, then try again."
        ) % {"most": DEEPEST}
    return Refused("room", message, status=422)
