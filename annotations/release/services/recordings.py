"""Muted recordings of a release, in its export and for its auditors."""

import io
from collections.abc import Iterator, Mapping

from django.http import Http404
from django.utils.translation import gettext as _

from annotations import models
from annotations.audio.rules.sound import write_muted
from annotations.audio.selectors import opened
from annotations.audio.services.exporting import intervals_file, muted_copy
from annotations.audio.services.starting import readable
from annotations.core.services import ServiceError
from annotations.exchange.services.writing import Content
from annotations.release.rules.redaction.policy import SAFE_HARBOR
from annotations.release.selectors.recordings import excerpts_of, lost, lost_recordings, released_intervals
from annotations.release.services.sources import ReleasedAnnotations, covered_notes

FOLDER = "recordings"


def check_recordings(project: models.Project, policy: models.ReleasePolicy, source: ReleasedAnnotations) -> None:
    """Raise ServiceError `voice` where recordings would be released by Safe Harbor, also by a copy of that policy."""
    if policy.basis != SAFE_HARBOR:
        return
    transcripts = models.Recording.objects.filter(document__project=project).values("document")
    if covered_notes(project, source).filter(pk__in=transcripts).exists():
        message = _(
            "Recordings can't be released by “%(policy)s”, which is based on Safe Harbor: the voice itself is an "
            "identifier, 45 CFR 164.514(b)(2)(i)(P), and muting keeps it. Choose another policy, for example for a "
            "limited data set."
        )
        raise ServiceError(message % {"policy": policy.name}, code="voice")


def released_recordings(release: models.Release, codes: Mapping[str, str]) -> Iterator[tuple[str, Content]]:
    """The muted recordings of the notes that are not held back, each with its intervals, by name in the export.

    `codes`: what the export writes for each label; empty: nothing.
    """
    rows = models.ReleasedNote.objects.filter(
        release=release, state=models.ReleasedNoteState.DONE, document__recording__isnull=False
    )
    for pk in list(rows.order_by("name").values_list("pk", flat=True)):
        note = rows.select_related("document__recording").filter(pk=pk).first()
        if note is None:
            continue
        recording = note.document.recording
        intervals = released_intervals(note, recording, codes=codes)
        ending, copy = muted_copy(recording, intervals)
        with copy:
            yield f"{FOLDER}/{note.name}.{ending}", copy
        yield f"{FOLDER}/{note.name}.intervals.json", intervals_file(recording, intervals)


def recording_of(document: models.Document) -> models.Recording | None:
    """The recording whose transcript the note is, if it is one."""
    return models.Recording.objects.filter(document=document).first()


def lost_recording(row: models.AuditNote) -> str:
    """What to do if the file of the note's recording was deleted; empty if it was not."""
    return lost(list(lost_recordings(row.note.release).filter(pk=row.note_id).values_list("name", flat=True)))


def excerpt_of(row: models.AuditNote, part: int) -> tuple[str, bytes]:
    """The ending and the content of an excerpt, muted like the release, but for a planted leak.

    Raises Http404, also if the file of the recording was deleted.
    """
    recording = recording_of(row.note.document)
    excerpts = excerpts_of(row, recording) if recording else []
    if recording is None or part >= len(excerpts):
        raise Http404("There is no such excerpt.")
    planted = None if row.planted_start is None or row.planted_end is None else (row.planted_start, row.planted_end)
    start, end = (int(one * recording.rate) for one in excerpts[part])
    out = io.BytesIO()
    if problem := lost_recording(row):
        raise Http404(problem)
    with opened(recording) as source, readable():
        write_muted(source, out, released_intervals(row.note, recording, planted), start=start, end=end)
    return "flac" if recording.format == "FLAC" else "wav", out.getvalue()
