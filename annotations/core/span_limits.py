"""The limits on the spans of one annotation set (annotations.text.spans), checked wherever people write spans."""

from collections.abc import Sequence

from django.db.models import Count, Q
from django.utils.translation import gettext as _

from annotations.core.changes import Refused
from annotations.models import Span
from annotations.models.prepared import PreparedRead
from annotations.text.spans import DEEPEST, MOST_SPANS, Bounds, Crowd, crowd_over

# Counts the spans of the set, and those that share a character with the new ones, in one index scan.
_AROUND = PreparedRead(
    lambda held, start, end: (
        Span.objects.filter(annotation_set_id=held)
        .order_by()
        .values("annotation_set_id")
        .annotate(number=Count("start"), near=Count("start", filter=Q(start__lt=end, end__gt=start)))
        .values_list("number", "near")
    ),
    int,
    int,
    int,
)


def check_room(annotation_set_id: int, written: Sequence[Bounds], *, more: bool = True) -> None:
    """Raise Refused (`room`, 422) where the set holds too many spans after spans were written at these bounds.

    Call it in the transaction that wrote, which the error rolls back. `more`: spans were added, not only moved. Sets
    that were too large before the limit existed can still be corrected.
    """
    if not written:
        return
    least, most = min(start for start, _ in written), max(end for _, end in written)
    number, near = _AROUND.first(annotation_set_id, least, most) or (0, 0)
    if more and number > MOST_SPANS:
        raise _refused(Crowd(number))
    if near <= DEEPEST:
        return
    held = Span.objects.filter(annotation_set_id=annotation_set_id, start__lt=most, end__gt=least).order_by()
    crowd = crowd_over(held.values_list("start", "end"), written)
    if crowd is not None:
        raise _refused(crowd)


def _refused(crowd: Crowd) -> Refused:
    if crowd.at is None:
        message = _(
            "Not saved: an annotation set holds at most %(most)s spans on one note. Delete some, then try again."
        ) % {"most": f"{MOST_SPANS:,}"}
    else:
        message = _(
            "Not saved: at most %(most)s spans may cover one character. Delete a span here, then try again."
        ) % {"most": DEEPEST}
    return Refused("room", message, status=422)
