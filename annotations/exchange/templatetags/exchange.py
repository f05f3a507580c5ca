"""Template tags for the result of an export."""

from typing import Any

from django import template

from annotations.exchange.selectors import named_losses, places_of, why_deleted
from annotations.exchange.services.exporting import LISTED
from annotations.models import DocumentSource, Project

register = template.Library()


@register.simple_tag
def shown_losses(project: Project, losses: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Losses listed in the job's result, with the current names of the notes. The result stores only ids of notes."""
    return named_losses(project, losses[:LISTED])


@register.simple_tag
def loss_count(result: dict[str, Any]) -> int:
    """Number of losses of an export. Results of older versions list every loss and store no count."""
    return int(result.get("loss_count", len(result["losses"])))


@register.simple_tag
def why_file_deleted(project: Project, file_id: int) -> str:
    return why_deleted(project, file_id)


# Where in its document the text of a note comes from.


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
