"""Spans that an export's format could not hold, with the current names of their notes."""

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _

from annotations.models import Document, Project


def named_losses(project: Project, losses: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Copies of the losses, with the note's id moved from `note` to `note_id` and its name in `note`."""
    ids = {loss["note"] for loss in losses}
    rows = Document.objects.filter(project=project, pk__in=ids).order_by()
    names = dict(rows.values_list("pk", "name"))
    return [loss | {"note": names.get(loss["note"]) or _("erased note"), "note_id": loss["note"]} for loss in losses]
