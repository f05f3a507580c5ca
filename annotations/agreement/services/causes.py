"""Name the cause of a disagreement: one cause for each location, by the categories of Catelli 2021, table 3.4."""

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.agreement.events import CAUSE_SET
from annotations.core.errors import ServiceError
from annotations.models import Cause, Document, User


def set_cause(*, document: Document, start: int, end: int, kind: str, user: User) -> Cause | None:
    """Set the cause of a location (code points, end-exclusive), or delete it with an empty `kind`.

    The new cause replaces all causes that overlap the location: a location keeps one cause when changed annotations
    move its bounds. Raises ServiceError (`kind`, `location`).
    """
    if kind and kind not in Cause.Kind.values:
        raise ServiceError(
            _("“%(kind)s” is not a cause. Choose one of: %(choices)s.")
            % {"kind": kind[:10], "choices": ", ".join(Cause.Kind.values)},
            code="kind",
        )
    if not 0 <= start < end <= document.length:
        raise ServiceError(
            _("The location must lie within the %(length)s characters of the note.")
            % {"length": f"{document.length:,}"},
            code="location",
        )
    with transaction.atomic():
        Document.objects.select_for_update(of=("self",)).only("pk").get(pk=document.pk)
        overlapping = Cause.objects.filter(document_id=document.pk, start__lt=end, end__gt=start)
        before: list[list[int | str]] = [[each.start, each.end, each.kind] for each in overlapping]
        if before == ([[start, end, kind]] if kind else []):
            return overlapping.first()
        overlapping.delete()
        made = Cause.objects.create(document_id=document.pk, start=start, end=end, kind=kind, by=user) if kind else None
        CAUSE_SET.record(
            actor=user,
            project_id=document.project_id,
            document_id=document.pk,
            data={"bounds": [start, end], "kind": kind, "before": before},
        )
    return made
