"""Where in its document the text of a note comes from."""

from typing import Any

from django import template

from annotations.exchange.selectors.places import places_of
from annotations.models import DocumentSource

register = template.Library()


@register.simple_tag
def places_with(slug: str, source: DocumentSource, spans: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The places of the source map, each with the number of spans in it, and the address of its page or ""."""
    return [
        {
            "place": place,
            "start": start,
            "end": end,
            "url": url,
            "spans": sum(span["start"] < end and start < span["end"] for span in spans),
        }
        for start, end, place, url in places_of(slug, source)
    ]
