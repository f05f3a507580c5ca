"""Recordings, what is muted in them, and their files."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import IO

from django.db.models import Count, Q, QuerySet
from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations import models
from annotations.audio.rules.gaps import HARMLESS
from annotations.audio.rules.intervals import Interval, muted
from annotations.audio.rules.words import TimedWord
from annotations.core.access import Access, note_for, sets_for
from annotations.core.services import NOTE_READ, ServiceError
from annotations.core.spans import own_sets
from annotations.core.stored_files import open_stored


def recordings(project: models.Project) -> "QuerySet[models.Recording]":
    """The recordings of a project with their notes, and how many of their regions nobody has decided."""
    rows = models.Recording.objects.filter(document__project=project).select_related("document")
    open_ones = Count("regions", filter=Q(regions__decision=""))
    return rows.defer("words", "peaks", "given", "document__text").annotate(open_regions=open_ones)


def recording_for(access: Access, note: int) -> models.Recording:
    """The recording of a note that this person may read. Raises Http404."""
    row = models.Recording.objects.select_related("document").filter(document=note_for(access, note)).first()
    if row is None:
        raise Http404("This note has no recording.")
    return row


def words_of(recording: models.Recording) -> list[TimedWord]:
    return [TimedWord(*word) for word in recording.words]


def original_of(recording: models.Recording) -> models.StoredFile:
    """The file of a recording. Raises ServiceError `gone` if it was deleted."""
    source = models.DocumentSource.objects.select_related("original").filter(document=recording.document_id).first()
    if source is None or source.original is None:
        raise ServiceError(_("The file of this recording was deleted. Import it again."), code="gone")
    return source.original


def has_read_lately(access: Access, note: int) -> bool:
    """Whether it was recorded in the last hour that this person read the note or heard its recording."""
    since = timezone.now() - timedelta(hours=1)
    read = models.Event.objects.filter(document_id=note, actor=access.user, verb=NOTE_READ, at__gt=since)
    return read.exists()


def opened(recording: models.Recording) -> IO[bytes]:
    """A seekable copy of the file of a recording."""
    return open_stored(original_of(recording))


def is_muted(region: models.AudioRegion) -> bool:
    """Whether a region is muted: as a person decided, or else unless a language model called it harmless."""
    if region.decision:
        return region.decision == models.RegionDecision.ACCEPTED
    return region.verdict != HARMLESS


def muted_intervals(
    recording: models.Recording,
    spans: Sequence[tuple[int, int, str]],
    *,
    margin: float | None = None,
    regions: Iterable[models.AudioRegion] | None = None,
) -> list[Interval]:
    """What to mute: the words of spans (start, end, label code) and the regions, with the recording's margin."""
    some = recording.regions.all() if regions is None else regions
    return muted(
        words_of(recording),
        spans,
        [Interval(one.start, one.end, one.cause) for one in some if is_muted(one)],
        margin=recording.margin if margin is None else margin,
        duration=recording.duration,
    )


def words_muted_by_hand(notes: Sequence[int]) -> dict[int, list[tuple[int, int]]]:
    """The words of each note in whose time a person heard a name and muted it: bounds in code points, in order."""
    heard = models.AudioRegion.objects.filter(
        recording__document__in=notes, decision=models.RegionDecision.ACCEPTED, sort=models.RegionSort.NAME
    ).exclude(cause=models.RegionCause.GAP)
    found: dict[int, list[tuple[int, int]]] = {}
    regions: dict[int, list[models.AudioRegion]] = {}
    for region in heard:
        regions.setdefault(region.recording_id, []).append(region)
    for recording in models.Recording.objects.filter(pk__in=regions):
        some = regions[recording.pk]
        found[recording.document_id or 0] = [
            (word.start, word.end)
            for word in words_of(recording)
            if any(one.start < word.finish and word.begin < one.end for one in some)
        ]
    return found


def region_of(recording: models.Recording, pk: int) -> models.AudioRegion:
    """A region of the recording. Raises Http404."""
    region = recording.regions.select_related("recording__document").filter(pk=pk).first()
    if region is None:
        raise Http404("The recording has no such region.")
    return region


# What the page of a recording shows.


@dataclass(frozen=True)
class TurnPart:
    """A word with its number, or a region where a voice is heard without words (`region`)."""

    text: str = ""
    at: int = 0
    region: models.AudioRegion | None = None


@dataclass(frozen=True)
class Turn:
    """What a speaker says until another one speaks."""

    speaker: str
    parts: Sequence[TurnPart]


def turns_of(recording: models.Recording, regions: Sequence[models.AudioRegion]) -> list[Turn]:
    """The transcript by turns, with the gaps between the words."""
    assert recording.document is not None
    text = recording.document.text
    gaps = [one for one in regions if one.cause == models.RegionCause.GAP]
    turns: list[tuple[str, list[TurnPart]]] = []
    done = 0
    for at, word in enumerate(words_of(recording)):
        if not turns or turns[-1][0] != word.speaker:
            turns.append((word.speaker, []))
        while done < len(gaps) and gaps[done].end <= word.begin + 0.001:
            turns[-1][1].append(TurnPart(region=gaps[done]))
            done += 1
        turns[-1][1].append(TurnPart(text[word.start : word.end], at))
    if turns:
        turns[-1][1].extend(TurnPart(region=gap) for gap in gaps[done:])
    return [Turn(speaker, parts) for speaker, parts in turns]


def shown_sets(access: Access, recording: models.Recording) -> list[models.AnnotationSet]:
    """The submitted annotation sets of the transcript that this person may see; for a blind annotator, only the own."""
    if access.blind:
        return list(own_sets(recording.document_id or 0, access.user).select_related("author"))
    submitted = sets_for(access).filter(document=recording.document_id, state=models.AnnotationSetState.SUBMITTED)
    return list(submitted.select_related("author").order_by("author__kind", "author__name"))


def spans_in(annotation_set: int) -> list[tuple[int, int, str]]:
    """Start, end and label code of each span of an annotation set."""
    rows = models.Span.objects.filter(annotation_set=annotation_set).order_by("start", "end")
    return list(rows.values_list("start", "end", "label__code"))


def recording_named(project: models.Project, name: str) -> models.Recording:
    """The recording of the note with this name. Raises ServiceError `note`."""
    row = models.Recording.objects.select_related("document__project").filter(
        document__project=project, document__name=name
    )
    found = row.first()
    if found is None:
        message = _("The project has no recording “%(name)s”. Import it first.")
        raise ServiceError(message % {"name": name[:80]}, code="note")
    return found
