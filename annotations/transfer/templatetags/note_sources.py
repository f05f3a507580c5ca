"""Where in its document the text of a note comes from."""

from typing import Any

from django import template

from annotations.models import DocumentSource

register = template.Library()


@register.filter
def places_with(source: DocumentSource, spans: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The places of the source map, each with the number of spans in it."""
    return [
        {
            "place": place,
            "start": start,
            "end": end,
            "spans": sum(span["start"] < end and start < span["end"] for span in spans),
        }
        for start, end, place in source.places
    ]
