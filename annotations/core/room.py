"""The limits on the spans of one annotation set (annotations.domain.crowding), for every way that people write them."""

from collections.abc import Sequence

from django.db.models import Count, Q
from django.utils.translation import gettext as _

from annotations.core.changes import Refused
from annotations.domain.crowding import DEEPEST, MOST_SPANS, Bounds, Crowd, crowd_over
from annotations.models import Span
from annotations.models.prepared import PreparedRead

# How many spans the set has, and how many of them share a character with the new one: one walk along the index.
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


def check_room(annotation_set_id: int, places: Sequence[Bounds], *, more: bool = True) -> None:
    """Refuse (`room`, 422) what has just been written at `places`, where the set now holds too many spans.

    Inside the transaction that wrote, so that nothing of it stays. `more`: spans were added, not only moved; sets that
    were too large before the limit was there can still be mended.
    """
    if not places:
        return
    least, most = min(start for start, _ in places), max(end for _, end in places)
    number, near = _AROUND.first(annotation_set_id, least, most) or (0, 0)
    if more and number > MOST_SPANS:
        raise _refused(Crowd(number))
    if near <= DEEPEST:
        return
    held = Span.objects.filter(annotation_set_id=annotation_set_id, start__lt=most, end__gt=least).order_by()
    crowd = crowd_over(held.values_list("start", "end"), places)
    if crowd is not None:
        raise _refused(crowd)


def _refused(crowd: Crowd) -> Refused:
    if crowd.at is None:
        message = _(
            "Not saved: an annotation set holds at most %(most)s spans on one note. Delete some, then try again."
        ) % {"most": f"{MOST_SPANS:,}"}
    else:
        message = _(
            "Not saved: at most %(most)s spans may lie over one character. Delete one that lies here, then try again."
        ) % {"most": DEEPEST}
    return Refused("room", message, status=422)
