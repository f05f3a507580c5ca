"""Losses of an export, kept by the ids of notes, as a page shows them."""

from typing import Any

from django import template

from annotations.models import Project
from annotations.transfer.selectors.losses import named_losses

register = template.Library()
SHOWN = 200


@register.simple_tag
def shown_losses(project: Project, losses: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first SHOWN of them, with the names that the notes have now."""
    return named_losses(project, losses[:SHOWN])
