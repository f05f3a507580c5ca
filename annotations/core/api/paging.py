"""Lists of the API in pages by key: a cursor says after which row the next page begins.

A client that accepts `application/x-ndjson` gets all rows from the cursor on, one JSON object in a line, read from the
database in batches.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Generic, TypeVar

from django.core.signing import BadSignature, Signer
from django.db.models import Model, QuerySet
from django.http import HttpResponseBase, StreamingHttpResponse
from django.utils.translation import gettext as _
from ninja import Field, Schema
from pydantic_core import to_json

from annotations.core.api.routes import ApiRequest, invalid
from annotations.text.names import whole_number

NDJSON: Final = "application/x-ndjson"
DEFAULT: Final = 100
MOST: Final = 500
Row = TypeVar("Row")
Record = TypeVar("Record", bound=Model)
Item = TypeVar("Item")
PageAnswer = dict[str, Any] | HttpResponseBase
"""A page as the operation answers it, or the stream of all rows."""
# A function of a key and a count: at most that many rows after the row with the key; None: from the first row on.
Fetch = Callable[[int | None, int], Sequence[Row]]


class Paging(Schema):
    """The query parameters of a list."""

    cursor: str = Field("", max_length=200, description="`next` of the previous page. Empty: from the first row on.")
    limit: int | None = Field(
        None, ge=1, le=MOST, description=f"Rows of a page, by default {DEFAULT}. NDJSON: all rows without a limit."
    )


class Page(Schema, Generic[Item]):
    """A page of a list. `next` is the cursor of the next page; null on the last one."""

    items: list[Item]
    next: str | None = None


def as_is(row: Row) -> Row:
    """Return the row itself, where rows are already the items of the answer."""
    return row


def paged(
    request: ApiRequest, paging: Paging, fetch: Fetch[Row], item: Callable[[Row], object], key: Callable[[Row], int]
) -> PageAnswer:
    """Return a page for the operation's response `Page[…]`, or the stream of all rows as NDJSON.

    `key`: the whole number by which the rows are ordered, different in each row. Raises Problem (422)
    for a cursor of another list.
    """
    after = _key_of(request, paging.cursor)
    if NDJSON in request.headers.get("Accept", ""):
        lines = _lines(fetch, item, key, after, paging.limit)
        return StreamingHttpResponse(lines, content_type=NDJSON)
    size = paging.limit or DEFAULT
    rows = fetch(after, size + 1)
    more = len(rows) > size
    return {
        "items": [item(row) for row in rows[:size]],
        "next": _signer(request).sign(str(key(rows[size - 1]))) if more else None,
    }


def paged_rows(
    request: ApiRequest, paging: Paging, rows: QuerySet[Record], item: Callable[[Record], object], *,
    newest_first: bool = False, by: str = "pk",
) -> PageAnswer:  # fmt: skip
    """Page a query by a column of whole numbers that no two rows share, by default the id."""

    def fetch(after: int | None, size: int) -> Sequence[Record]:
        found = rows.order_by(f"-{by}" if newest_first else by)
        if after is not None:
            found = found.filter(**{f"{by}__lt" if newest_first else f"{by}__gt": after})
        return list(found[:size])

    return paged(request, paging, fetch, item, lambda row: int(getattr(row, by)))


def _lines(
    fetch: Fetch[Row], item: Callable[[Row], object], key: Callable[[Row], int], after: int | None, limit: int | None
) -> Iterator[bytes]:
    left = limit
    while left is None or left > 0:
        rows = fetch(after, MOST if left is None else min(MOST, left))
        for row in rows:
            yield to_json(item(row), by_alias=True) + b"\n"
        if not rows:
            return
        after = key(rows[-1])
        left = None if left is None else left - len(rows)


def _signer(request: ApiRequest) -> Signer:
    """Return the signer of this list's cursors, so that a cursor of another list is refused."""
    return Signer(salt=f"cursor {request.path_info}")


def _key_of(request: ApiRequest, cursor: str) -> int | None:
    if not cursor:
        return None
    try:
        place = whole_number(_signer(request).unsign(cursor))
    except BadSignature:
        place = None
    if place is None:
        raise invalid(("cursor", _("This is not a cursor of this list. Begin again without a cursor.")))
    return place
