"""What was found in notes, in sentences, as answers of the API."""

from collections.abc import Callable, Sequence
from typing import Any

from ninja import Schema

from annotations.core.access import Access
from annotations.core.api.paging import PageAnswer, Paging, paged
from annotations.core.api.routes import ApiRequest
from annotations.notes.selectors.in_context import Entry, Found, RowOf, with_context


def sentence_of(entry: Entry) -> dict[str, Any]:
    """The note and the sentence of an entry, as the API gives them."""
    return {name: getattr(entry, name) for name in ("note", "name", "before", "marked", "after")}


def paged_in_context(
    request: ApiRequest, paging: Paging, access: Access, found: Sequence[Found], row_of: RowOf[Found],
    item: Callable[[Found, Entry], Schema], what: str,
) -> PageAnswer:  # fmt: skip
    """A page of the API with what was found in notes, in sentences. Only the notes of the page count as read."""

    def fetch(after: int | None, size: int) -> list[tuple[int, Found, Entry]]:
        first = after or 0
        numbered = list(enumerate(found[first : first + size], first + 1))
        shown = with_context(access, numbered, lambda pair: row_of(pair[1]), what)
        return [(number, one, entry) for (number, one), entry in shown]

    return paged(request, paging, fetch, lambda row: item(*row[1:]), lambda row: row[0])
