"""Transcribe a recording part by part. Each part is a row, so that a worker continues where another one was killed."""

from collections.abc import Callable
from dataclasses import astuple
from typing import Any

from django.conf import settings
from django.db import transaction

from annotations.audio.rules.intervals import Stretch
from annotations.audio.rules.recognizers import POCKETSPHINX
from annotations.audio.rules.sound import facts_of, peaks_of
from annotations.audio.rules.words import SpokenWord, shifted
from annotations.audio.services.starting import FROM_FILE, readable
from annotations.audio.services.storing import finish_recording
from annotations.core.services import Fence, Progress, ServiceError
from annotations.core.stored_files import open_stored
from annotations.models import Recording, RecordingBlock, User
from models_runtime.backends.base import BackendError
from models_runtime.backends.speech.base import Recognizer
from models_runtime.backends.speech.parts import parts_of
from models_runtime.backends.speech.sphinx import SphinxRecognizer
from models_runtime.backends.speech.voice import voice_detector
from models_runtime.backends.speech.whisper import WhisperRecognizer


def transcribe(
    *,
    recording: Recording,
    actor: User | None,
    progress: Progress,
    fence: Fence,
    finish: Callable[[dict[str, Any]], None],
) -> dict[str, Any]:
    """Find the words, unless a file gave them, and the voices; then make the note. Return the counts.

    `progress` counts seconds of the recording. Raises ServiceError.
    """
    stored = recording.imported_by.stored_file
    if stored is None:
        raise ServiceError("The recording was deleted. Import it again.", code="expired")
    detector = voice_detector()
    with open_stored(stored) as file, readable():
        if not recording.peaks:
            _measure(recording, file, fence)
        blocks = RecordingBlock.objects.filter(recording=recording)
        done = blocks.order_by("-end").values_list("end", flat=True).first() or 0.0
        total = max(1, round(recording.duration))
        progress(min(round(done), total - 1), total)
        try:
            recognizer = recognizer_of(recording)
            for part in parts_of(file, detector, done):
                words = shifted(recognizer.recognize(part.samples), part.start) if recognizer else []
                with transaction.atomic():
                    fence()
                    RecordingBlock.objects.create(
                        recording=recording, end=part.end, words=[list(astuple(word)) for word in words],
                        voiced=[[part.start + start, part.start + end] for start, end in part.voiced],
                    )  # fmt: skip
                progress(min(round(part.end), total - 1), total)
        except BackendError as error:
            raise ServiceError(str(error), code="speech") from error
    rows = list(blocks.order_by("end"))
    found = recording.given if recording.source == FROM_FILE else [word for row in rows for word in row.words]
    voiced = [Stretch(*one) for row in rows for one in row.voiced]
    words = [SpokenWord(*word) for word in found or ()]
    return finish_recording(
        recording=recording, words=words, voiced=voiced, voice=detector.name, actor=actor, fence=fence, finish=finish
    )


def _measure(recording: Recording, file: Any, fence: Fence) -> None:
    """Store the peaks, and the number of samples, which the head of an MP3 file may give wrong."""
    recording.peaks, recording.frames = peaks_of(file, facts_of(file))
    with transaction.atomic():
        fence()
        recording.save(update_fields=["peaks", "frames"])


def recognizer_of(recording: Recording) -> Recognizer | None:
    """The recognizer of a recording; None where a file gave the words. Raises BackendError."""
    name, _colon, folder = recording.source.partition(":")
    if recording.source == FROM_FILE:
        return None
    if name == POCKETSPHINX:
        return SphinxRecognizer()
    language = recording.imported_by.project.language
    return WhisperRecognizer(settings.DATA_DIR / "weights" / folder, language)
