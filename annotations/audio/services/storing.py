"""Make a note of a recording whose words are known, and the regions that are muted beside its words."""

from collections.abc import Callable, Sequence
from typing import Any

from django.utils.translation import gettext as _

from annotations import models
from annotations.audio.events import RECORDING_STORED
from annotations.audio.rules.intervals import Interval, Stretch, doubtful, voiced_gaps
from annotations.audio.rules.words import SpokenWord, Transcript, transcript_of
from annotations.core.services import Fence, ServiceError, silent
from annotations.exchange.services.importing import run_import, undo_import
from annotations.exchange.services.sources import PATIENTS, MemorySource
from annotations.formats.files.csv_files import csv_line


def finish_recording(
    *,
    recording: models.Recording,
    words: Sequence[SpokenWord],
    voiced: Sequence[Stretch],
    voice: str,
    actor: models.User | None,
    fence: Fence,
    finish: Callable[[dict[str, Any]], None],
) -> dict[str, Any]:
    """Make the note and the regions of a recording, and keep the file as the note's original. Return the counts.

    `finish` gets them inside the last transaction. Raises ServiceError `empty` without words, or `refused` where the
    note can't be imported.
    """
    if not words:
        raise ServiceError(_("No word was recognized. Check the recording, or give a file of words."), code="empty")
    spoken = transcript_of(words, recording.duration)
    row = recording.imported_by
    assert row.stored_file is not None
    name = recording.name
    files = [(f"{name}.txt", spoken.text.encode())]
    if recording.patient_id:
        files.append((PATIENTS, (csv_line(["name", "patient_id"]) + csv_line([name, recording.patient_id])).encode()))
    result: dict[str, Any] = {}

    def store(report: dict[str, Any]) -> None:
        result.update(_store(recording, spoken, voiced, voice, actor))
        finish(result)

    run_import(import_id=row.pk, progress=silent, fence=fence, source=MemorySource(files), finish=store)
    return result


def _store(
    recording: models.Recording, spoken: Transcript, voiced: Sequence[Stretch], voice: str, actor: models.User | None
) -> dict[str, Any]:
    row = recording.imported_by
    note = models.Document.objects.get(imported_by=row)
    stored = row.stored_file
    assert stored is not None
    models.StoredFile.objects.filter(pk=stored.pk).update(kind=models.StoredFileKind.ORIGINAL, expires_at=None)
    models.Import.objects.filter(pk=row.pk).update(stored_file=None)
    models.DocumentSource.objects.create(
        document=note, original=stored, name=stored.name, kind=models.DocumentSource.RECORDING
    )
    recording.document, recording.given, recording.voice = note, None, voice
    recording.name = recording.patient_id = ""
    recording.words = [list(word) for word in spoken.words]
    recording.widened = spoken.widened
    recording.save()
    recording.blocks.all().delete()
    regions = [
        *(Interval(*gap, models.RegionCause.GAP) for gap in voiced_gaps(voiced, spoken.words)),
        *doubtful(spoken.words),
    ]
    models.AudioRegion.objects.bulk_create(
        (models.AudioRegion(recording=recording, start=one.start, end=one.end, cause=one.cause) for one in regions),
        batch_size=500,
    )
    counts = {"words": len(spoken.words), "widened": spoken.widened, "regions": len(regions)}
    RECORDING_STORED.record(
        actor=actor, project_id=note.project_id, document_id=note.pk,
        data={"words": len(spoken.words), "widened": spoken.widened, "regions": len(regions)},
    )  # fmt: skip
    return {"note": note.pk, "seconds": round(recording.duration, 3), **counts}


def undo_recording(params: dict[str, Any], state: str) -> None:
    """Delete what an unfinished job of a recording stored: the file, the words so far, and the note."""
    pk = int(params["import_id"])
    undo_import(import_id=pk, state=state)
    row = models.Import.objects.select_related("stored_file").get(pk=pk)
    if row.state == models.ImportState.DONE:
        return
    models.Recording.objects.filter(imported_by=row).delete()
    if row.stored_file is not None:
        row.stored_file.delete()
