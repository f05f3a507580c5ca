"""De-identify one recording from its file to its muted copy."""

import hashlib
import uuid
from io import BufferedReader
from pathlib import Path
from typing import Any

from django.core.management.base import OutputWrapper
from django.utils.translation import gettext as _

from annotations.audio.rules.word_files import read_words
from annotations.audio.rules.words import transcript_of
from annotations.audio.services.exporting import check_margin, write_copy
from annotations.audio.services.starting import readable, start_recording
from annotations.core.services import ServiceError
from annotations.exchange.services.writing import check_out
from annotations.jobs.waiting import end
from annotations.models import AnnotationSet, AnnotationSetState, Author, Job, Project, Recording, User
from annotations.release.services.sources import source_of
from models_runtime.models import Run
from models_runtime.runs.services.backends import chosen
from models_runtime.runs.services.runs import started


def deidentify(
    *,
    project: Project,
    name: str,
    content: BufferedReader,
    words: tuple[str, bytes] | None,
    recognizer: str,
    run: str,
    set_spec: str,
    margin: float,
    tone: bool,
    patient: str,
    out: Path,
    actor: User | None,
    tell: OutputWrapper | None,
) -> dict[str, Any]:
    """Import or find a recording, label its transcript, and write the muted copy. Return what was muted.

    `margin`: seconds. Raises ServiceError; then nothing is written to `out`.
    """
    check_out(out)
    check_margin(margin)
    recording = _known(project, name, content)
    if recording is None:
        content.seek(0)
        job = start_recording(
            project=project, name=name, content=content, actor=actor, words=words, recognizer=recognizer,
            patient=patient, margin=margin,
        )  # fmt: skip
        end(job, "The transcript", code="speech", tell=tell)
        recording = Recording.objects.get(document=job.result["note"])
    elif words is not None:
        _check_same(recording, words)
    spec = set_spec or f"run:{_read(recording, run, actor, tell)}"
    spans = source_of(project, spec).spans([recording.document_id or 0])[recording.document_id or 0]
    return write_copy(recording=recording, spans=spans, margin=margin, tone=tone, out=out, actor=actor)


def _known(project: Project, name: str, content: BufferedReader) -> Recording | None:
    """The recording of a file with this name, if it is the same file. Another file is refused later."""
    digest = hashlib.file_digest(content, "sha256").hexdigest()
    same = Recording.objects.filter(document__project=project, document__source__original__sha256=digest)
    return same.filter(document__source__name=name).first()


def _check_same(recording: Recording, words: tuple[str, bytes]) -> None:
    """Raise ServiceError `words` unless the recording has these words, with these times."""
    with readable():
        spoken = transcript_of(read_words(*words), recording.duration)
    if [list(word) for word in spoken.words] != recording.words:
        message = _("The project has this recording with other words. Leave out the words, or rename the file.")
        raise ServiceError(message, code="words")


def _read(recording: Recording, run: str, actor: User | None, tell: OutputWrapper | None) -> str:
    """The name of a run that covers the note: this one, the newest one of the backend with this name, or a new one."""
    note = recording.document
    assert note is not None
    own = Author.objects.filter(project=note.project_id, kind__in=Author.MODELS)
    of_backend = Run.objects.filter(project=note.project_id, backend=run).values("author")
    sets = AnnotationSet.objects.filter(document=note, state=AnnotationSetState.SUBMITTED)
    for authors in (own.filter(name=run), own.filter(pk__in=of_backend)):
        newest = sets.filter(author__in=authors).order_by("-pk").values_list("author__name", flat=True).first()
        if newest is not None:
            return newest
    new = started(
        project=note.project, choice=chosen(note.project, run), actor=actor, name="", params={}, key=uuid.uuid4().hex,
        only=[note.pk],
    )  # fmt: skip
    end(Job.objects.get(run=new), "The run", code="run", tell=tell)
    return new.author.name
