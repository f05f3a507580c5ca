"""Tables that routes answer as files."""

from collections.abc import Iterable
from typing import Any, Final

from django.http import StreamingHttpResponse

CSV: Final[dict[str, Any]] = {
    "responses": {200: {"description": "OK", "content": {"text/csv": {"schema": {"type": "string"}}}}}
}
"""The description (`openapi_extra`) of a route that answers a table as CSV."""


def csv_file(lines: Iterable[str], name: str) -> StreamingHttpResponse:
    """Return the lines of a table as a CSV file with this name, sent in pieces."""
    response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
