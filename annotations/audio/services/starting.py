"""Take a recording, with or without a file of its words, and start the job that makes a note of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple
from io import BufferedReader
from pathlib import Path, PurePath
from typing import IO, Final

from django.db import transaction
from django.utils.translation import gettext as _

from annotations import models
from annotations.audio.rules.intervals import MARGIN, MOST_MARGIN
from annotations.audio.rules.recognizers import is_recognizer
from annotations.audio.rules.sound import AudioError, facts_of
from annotations.audio.rules.word_files import WordsError, read_words
from annotations.core.services import ServiceError, check_open, good_name
from annotations.core.stored_files import store_file
from annotations.exchange.selectors import JOB_KEY
from annotations.jobs.services.queue import enqueue

JOB: Final = "transcribe"
FROM_FILE: Final = "file of words"
LONGEST_NAME: Final = 200


def start_recording(
    *,
    project: models.Project,
    name: str,
    content: IO[bytes],
    actor: models.User | None,
    words: tuple[str, bytes] | None = None,
    recognizer: str = "",
    patient: str = "",
    margin: float = MARGIN,
) -> models.Job:
    """Store a recording and start the job that makes a note of it: of the given words, or of recognized ones.

    `words`: name and content of a file (rules.word_files). `margin`: seconds. Erasures wait for the job, since its
    import is running from the start. Raises ServiceError `audio`, `words`, `recognizer`, `margin`, `name` or `patient`;
    nothing is stored then.
    """
    file = good_name(PurePath(name).name)
    if not file or file.startswith(".") or len(file) > LONGEST_NAME:
        message = _("The file needs a name of 1 to %(most)s characters that doesn't begin with a dot. Rename it.")
        raise ServiceError(message % {"most": LONGEST_NAME}, code="name")
    if not 0 <= margin <= MOST_MARGIN:
        message = _("The margin must be between 0 and %(most)s milliseconds.")
        raise ServiceError(message % {"most": int(MOST_MARGIN * 1000)}, code="margin")
    if len(patient) > 80:
        raise ServiceError(_("A patient ID has at most 80 characters. Shorten it."), code="patient")
    patient = good_name(patient, code="patient")
    if words is None:
        check_recognizer(recognizer)
    with readable():
        facts = facts_of(content)
        spoken = None if words is None else [list(astuple(word)) for word in read_words(*words)]
    content.seek(0)
    with transaction.atomic():
        models.Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        check_open(project.pk)
        note = _name_of_note(project, file)
        stored = store_file(project=project, kind=models.StoredFileKind.UPLOAD, name=file, content=content, actor=actor)
        row = models.Import.objects.create(
            project=project, format="text", state=models.ImportState.RUNNING, stored_file=stored, created_by=actor,
            take_duplicates=True, all_or_nothing=True,
        )  # fmt: skip
        models.Recording.objects.create(
            imported_by=row, format=facts.format, subtype=facts.subtype, rate=facts.rate, channels=facts.channels,
            frames=facts.frames, source=FROM_FILE if spoken else recognizer, given=spoken,
            name=note, patient_id=patient, margin=margin,
        )  # fmt: skip
        return enqueue(kind=JOB, project=project, params={"import_id": row.pk}, key=f"{JOB_KEY}{row.pk}", actor=actor)


def _name_of_note(project: models.Project, file: str) -> str:
    """The file's name without its ending; with it where a recording with another ending has that name.

    The caller's transaction holds the project's row. Raises ServiceError `name` where there is such a note already.
    """
    waiting = models.Recording.objects.filter(
        imported_by__project=project, imported_by__state=models.ImportState.RUNNING
    )

    def taken(name: str) -> bool:
        notes = models.Document.objects.filter(project=project, name=name)
        return notes.exists() or waiting.filter(name=name).exists()

    note = PurePath(file).stem
    sources = models.DocumentSource.objects.filter(
        document__project=project, document__name=note, kind=models.DocumentSource.RECORDING
    )
    named = waiting.filter(name=note).values_list("imported_by__stored_file__name", flat=True)
    recordings = sources.filter(kind=models.DocumentSource.RECORDING)
    others = [*recordings.values_list("name", flat=True), *named]
    if others and file not in others:
        note = file
    if taken(note):
        message = _("The project has a note “%(name)s” already. Rename the file, or open that note.")
        raise ServiceError(message % {"name": note}, code="name")
    return note


def check_recognizer(spec: str) -> None:
    """Raise ServiceError `recognizer`."""
    if not is_recognizer(spec):
        message = _(
            "There is no recognizer “%(name)s”. Choose pocketsphinx, or faster-whisper:FOLDER with a folder of "
            "weights; or give a file of words."
        )
        raise ServiceError(message % {"name": spec[:80]}, code="recognizer")


@contextmanager
def readable() -> Iterator[None]:
    """Make errors of a recording or a file of words errors for people."""
    try:
        yield
    except AudioError as error:
        raise ServiceError(str(error), code="audio") from error
    except WordsError as error:
        raise ServiceError(str(error), code="words") from error


def read_file(path: Path) -> BufferedReader:
    """Open a file of a command. Raises ServiceError `path`."""
    try:
        return path.open("rb")
    except OSError as error:
        message = _("Can't read “%(path)s”: %(strerror)s. Nothing was imported.")
        raise ServiceError(message % {"path": path, "strerror": error.strerror}, code="path") from error
