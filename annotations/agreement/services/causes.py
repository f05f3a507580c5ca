"""Name the causes of a disagreement, by the sources of errors of Catelli 2021, section 4.1.2. It may have several."""

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.agreement.events import CAUSE_REMOVED, CAUSE_SET
from annotations.agreement.selectors.disagreements import kinds_at
from annotations.core.errors import ServiceError
from annotations.models import Cause, CauseKind, Document, User


def change_cause(*, document: Document, start: int, end: int, kind: str, present: bool, user: User) -> list[str]:
    """Add a cause to a location (code points, end-exclusive), or remove it. Return the location's causes.

    The causes of a location are all that overlap it, so they stay when changed annotations move its bounds. A change
    moves them to its current bounds. Raises ServiceError (`kind`, `location`).
    """
    if kind not in CauseKind.values:
        raise ServiceError(
            _("“%(kind)s” is not a cause. Choose one of: %(choices)s.")
            % {"kind": kind[:10], "choices": ", ".join(CauseKind.values)},
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
        there = list(Cause.objects.filter(document_id=document.pk, start__lt=end, end__gt=start))
        if (kind in kinds_at(there, start, end)) != present:
            _move([cause for cause in there if cause.kind != kind], start, end)
            if present:
                Cause.objects.create(document_id=document.pk, start=start, end=end, kind=kind, by=user)
            else:
                Cause.objects.filter(pk__in=[cause.pk for cause in there if cause.kind == kind]).delete()
            (CAUSE_SET if present else CAUSE_REMOVED).record(
                actor=user,
                project_id=document.project_id,
                document_id=document.pk,
                data={"bounds": [start, end], "kind": kind, "before": [[c.start, c.end, c.kind] for c in there]},
            )
        return kinds_at(Cause.objects.filter(document_id=document.pk), start, end)


def _move(causes: list[Cause], start: int, end: int) -> None:
    """Give the causes these bounds, and keep one of each kind."""
    kept = {cause.kind: cause.pk for cause in reversed(causes)}
    Cause.objects.filter(pk__in={cause.pk for cause in causes} - set(kept.values())).delete()
    Cause.objects.filter(pk__in=kept.values()).update(start=start, end=end)
