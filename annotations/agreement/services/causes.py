"""Saying why annotators differ at a place: one cause for each place, by table 3.4's categories."""

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.events import record
from annotations.models import Cause, Document, User, Verb


def set_cause(*, document: Document, start: int, end: int, kind: str, user: User) -> Cause | None:
    """Name the cause of the place (code points, end-exclusive), or take it back with an empty `kind`.

    It takes the place of any that lies over the same stretch: a place keeps its cause when readings move its ends.
    Raises ServiceError `kind`, `place`.
    """
    if kind and kind not in Cause.Kind.values:
        raise ServiceError(
            _("%(kind)s is no cause; there are %(choices)s")
            % {"kind": repr(kind[:10]), "choices": ", ".join(Cause.Kind.values)},
            code="kind",
        )
    if not 0 <= start < end <= document.length:
        raise ServiceError(
            _("the place must lie inside the note's %(length)s characters") % {"length": f"{document.length:,}"},
            code="place",
        )
    with transaction.atomic():
        Document.objects.select_for_update(of=("self",)).only("pk").get(pk=document.pk)
        over = Cause.objects.filter(document_id=document.pk, start__lt=end, end__gt=start)
        before = [[each.start, each.end, each.kind] for each in over]
        if before == ([[start, end, kind]] if kind else []):
            return over.first()
        over.delete()
        made = Cause.objects.create(document_id=document.pk, start=start, end=end, kind=kind, by=user) if kind else None
        record(
            verb=Verb.CAUSE_SET,
            actor=user,
            project_id=document.project_id,
            document_id=document.pk,
            data={"place": [start, end], "kind": kind, "before": before},
        )
    return made
