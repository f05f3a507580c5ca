"""faster-whisper: Whisper from a folder of converted weights, in the languages of these weights."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from annotations.audio.rules.words import SpokenWord
from annotations.text.wording import gettext as _
from models_runtime.backends.base import BackendError
from models_runtime.backends.speech.base import MISSING

if TYPE_CHECKING:
    from models_runtime.backends.speech.base import Samples


class WhisperRecognizer:
    """`language`: of the recording, as in “en”; empty: the model guesses it."""

    def __init__(self, folder: Path, language: str = "") -> None:
        try:
            from faster_whisper import WhisperModel
        except ImportError as error:
            raise BackendError(MISSING, "faster-whisper") from error
        if not (folder / "model.bin").is_file():
            message = _("This worker has no folder of weights “{name}” with a model.bin of CTranslate2.", folder.name)
            raise BackendError("{message} Convert the weights with ct2-transformers-converter.", message)
        try:
            self._model = WhisperModel(str(folder), local_files_only=True)
        except (RuntimeError, ValueError, OSError) as error:
            raise BackendError("The weights “{name}” can't be loaded: {error}", folder.name, error) from error
        self._language = language or None

    def recognize(self, samples: "Samples") -> Sequence[SpokenWord]:
        """The words, with the model's probability as confidence."""
        segments, _about = self._model.transcribe(
            samples.astype("float32") / 2**15, language=self._language, word_timestamps=True,
            condition_on_previous_text=False,
        )  # fmt: skip
        return [
            SpokenWord(one.word.strip(), float(one.start), float(one.end), min(1.0, max(0.0, float(one.probability))))
            for segment in segments
            for one in segment.words or ()
            if one.word.strip()
        ]
