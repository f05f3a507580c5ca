"""What an export's format could not hold, as it is shown: notes by name, looked up at this moment."""

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _

from annotations.models import Document, Project


def named_losses(project: Project, losses: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Losses, which name notes by id, with their names in `note` and their ids in `note_id`."""
    ids = {loss["note"] for loss in losses}
    rows = Document.objects.filter(project=project, pk__in=ids).order_by()
    names = dict(rows.values_list("pk", "name"))
    return [loss | {"note": names.get(loss["note"]) or _("erased note"), "note_id": loss["note"]} for loss in losses]
