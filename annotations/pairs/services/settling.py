"""Settle by hand which clear note belongs to a published decision, and undo it."""

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.services import ServiceError, hold, keep_labels
from annotations.core.suggestions import forget_notes, remove_strings, tally_of
from annotations.models import AnnotationSet, Decision, PublishedDecision, PublishedState, Review, Span, User
from annotations.pairs.events import PAIR_REOPENED, PAIR_SETTLED
from annotations.pairs.services.starting import omissis_label
from annotations.pairs.services.storing import align_decision, store_pairs


def settle(*, published: PublishedDecision, note: int | None, actor: User | None) -> PublishedDecision:
    """Pair a published decision with one of its candidates, and store the annotation set; None: with no note.

    Raises ServiceError `settled`, `candidate` for a note that is none of its candidates, or `taken`.
    """
    with transaction.atomic():
        keep_labels(published.project_id)
        hold(published.project_id)
        row = PublishedDecision.objects.select_for_update(of=("self",)).filter(pk=published.pk).first()
        if row is None or row.state != PublishedState.AMBIGUOUS:
            raise ServiceError(_("This published decision already has a choice. Reload the page."), code="settled")
        if note is not None and not row.candidates.filter(document=note).exists():
            message = _("This note is not a candidate for the published decision. Choose from the list.")
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
            store_pairs(author=row.author, label=label.pk, pairs={row.pk: align_decision(row)}, rows=[row])
        PAIR_SETTLED.record(
            actor=actor, project_id=row.project_id, document_id=note, data={"published": row.pk, "note": note}
        )
    return row


def undo_settlement(*, published: PublishedDecision, actor: User | None) -> PublishedDecision:
    """Ask again which note belongs to a published decision that a person settled, and delete its annotation set.

    Raises ServiceError `settled` for a decision that nobody settled by hand, and `reviewed` after a review of the set.
    """
    with transaction.atomic():
        keep_labels(published.project_id)
        hold(published.project_id)
        row = PublishedDecision.objects.select_for_update(of=("self",)).filter(pk=published.pk).first()
        if row is None or row.settled_at is None:
            raise ServiceError(_("Nobody chose a note for this published decision. Reload the page."), code="settled")
        sets = AnnotationSet.objects.filter(author=row.author_id, document=row.document_id)
        spans = Span.objects.filter(annotation_set__in=sets)
        reviews = Review.objects.filter(author=row.author_id, document=row.document_id, ahead=False)
        if Decision.objects.filter(suggestion__in=spans).exists() or reviews.exists():
            message = _("Somebody has begun to review the spans of this pair. Correct them in the review.")
            raise ServiceError(message, code="reviewed")
        gone, note = tally_of(spans), row.document_id
        forget_notes(sets)
        sets.delete()
        remove_strings(gone)
        row.document, row.state, row.aligned = None, PublishedState.AMBIGUOUS, None
        row.outside = row.begin = row.inside = 0
        row.settled_by = row.settled_at = None
        row.save()
        PAIR_REOPENED.record(
            actor=actor, project_id=row.project_id, document_id=note, data={"published": row.pk, "note": note}
        )
    return row
