"""Decide about the regions of a recording, and mark others by hand."""

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.audio.events import REGION_CHANGED
from annotations.core.services import ServiceError, check_open
from annotations.models import AudioRegion, Recording, RegionCause, RegionDecision, RegionSort, User

MOST_BY_HAND = 5000


def mark_region(*, recording: Recording, start: float, end: float, actor: User) -> AudioRegion:
    """Mute a part of a recording. Bounds in seconds. Raises ServiceError `bounds`, or `many` for too many regions."""
    with transaction.atomic():
        if not Recording.objects.select_for_update().filter(pk=recording.pk).exists():
            raise ServiceError(_("This recording was deleted."), code="gone")
        if recording.regions.filter(cause=RegionCause.PERSON).count() >= MOST_BY_HAND:
            message = _("This recording has %(most)s parts marked by hand. Extend one of them.")
            raise ServiceError(message % {"most": MOST_BY_HAND}, code="many")
        same = {"cause": RegionCause.PERSON, "start": round(start, 3), "end": end, "decision": RegionDecision.ACCEPTED}
        if (made := recording.regions.filter(**same).first()) is not None:  # A double click sends the form twice.
            return made
        region = AudioRegion(recording=recording, cause=RegionCause.PERSON)
        return _store(region, start, end, RegionDecision.ACCEPTED, RegionSort.NAME, actor)


def decide_region(
    *, region: AudioRegion, start: float, end: float, decision: str, sort: str, actor: User, seen: str | None = None
) -> AudioRegion:
    """Change the bounds (seconds), the decision and the sort of a region; an empty decision opens it again.

    Of a part marked by hand, it takes “keep audible” back, or else removes the part.

    `seen`: when the region was decided (AudioRegion.moment) as the person saw it; None: whatever it is. Raises
    ServiceError `bounds`, `gone` if the region was deleted, or `changed` if somebody has decided since then.
    """
    with transaction.atomic():
        rows = AudioRegion.objects.select_for_update(of=("self",)).select_related("recording__document")
        locked = rows.filter(pk=region.pk).first()
        if locked is None:
            raise ServiceError(_("This part of the recording was deleted. Reload the page."), code="gone")
        if seen is not None and seen != locked.moment:
            message = _("Somebody else has decided about this part meanwhile. Look at the decision, then change it.")
            raise ServiceError(message, code="changed")
        if locked.cause == RegionCause.PERSON and not decision:
            if locked.decision == RegionDecision.ACCEPTED:
                made = _store(locked, start, end, decision, sort, actor)
                AudioRegion.objects.filter(pk=locked.pk).delete()
                return made
            decision = RegionDecision.ACCEPTED
        return _store(locked, start, end, decision, sort, actor)


def _store(region: AudioRegion, start: float, end: float, decision: str, sort: str, actor: User) -> AudioRegion:
    recording = region.recording
    note = recording.document
    assert note is not None
    end = min(end, recording.duration)
    if not 0 <= start < end:
        message = _("A part must begin before it ends, inside the recording of %(seconds)s s.")
        raise ServiceError(message % {"seconds": f"{recording.duration:.2f}"}, code="bounds")
    with transaction.atomic():
        check_open(note.project_id)
        region.start, region.end, region.decision, region.sort = round(start, 3), end, decision, sort
        region.decided_by, region.decided_at = (actor, timezone.now()) if decision else (None, None)
        region.save()
        REGION_CHANGED.record(
            actor=actor, project_id=note.project_id, document_id=note.pk,
            data={
                "region": region.pk, "start": region.start, "end": region.end, "decision": decision, "sort": sort,
            },
        )  # fmt: skip
    return region
