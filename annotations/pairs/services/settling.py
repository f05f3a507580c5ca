"""Settle by hand which clear note belongs to a published decision."""

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.locks import hold, keep_labels
from annotations.models import PublishedDecision, PublishedState, User
from annotations.pairs.events import PAIR_SETTLED
from annotations.pairs.services.starting import omissis_label
from annotations.pairs.services.storing import aligned, store_pairs


def settle(*, published: PublishedDecision, note: int | None, actor: User | None) -> PublishedDecision:
    """Pair a published decision with one of its candidates, and store the annotation set; None: with no note.

    Raises ServiceError `settled`, `candidate` for a note that is none of its candidates, or `taken`.
    """
    with transaction.atomic():
        keep_labels(published.project_id)
        hold(published.project_id)
        row = PublishedDecision.objects.select_for_update(of=("self",)).filter(pk=published.pk).first()
        if row is None or row.state != PublishedState.AMBIGUOUS:
            raise ServiceError(_("This published decision is settled already. Reload the page."), code="settled")
        if note is not None and not row.candidates.filter(document=note).exists():
            message = _("This note is no candidate for the published decision. Choose from the list.")
            raise ServiceError(message, code="candidate")
        if note is not None and PublishedDecision.objects.filter(document=note).exists():
            message = _("This note belongs to another published decision. Choose another note, or none.")
            raise ServiceError(message, code="taken")
        row.document_id = note
        row.state = PublishedState.NONE if note is None else PublishedState.PAIRED
        row.settled_by, row.settled_at = actor, timezone.now()
        row.save(update_fields=["document", "state", "settled_by", "settled_at"])
        if row.document is not None and row.author is not None:
            label = omissis_label(row.project)
            store_pairs(author=row.author, label=label.pk, pairs={row.pk: aligned(row)}, rows=[row])
        PAIR_SETTLED.record(
            actor=actor, project_id=row.project_id, document_id=note, data={"published": row.pk, "note": note}
        )
    return row
