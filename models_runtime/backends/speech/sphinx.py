"""pocketsphinx: English, with the model inside its package. It only writes words of its dictionary."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from annotations.audio.rules.words import SpokenWord
from models_runtime.backends.base import BackendError
from models_runtime.backends.speech.base import MISSING, RATE

if TYPE_CHECKING:
    from models_runtime.backends.speech.base import Samples

_FRAMES: Final = 100  # a second
_VARIANT: Final = re.compile(r"\(\d+\)$")


class SphinxRecognizer:
    """A decoder with the model of the package. Keep it for all parts of a recording."""

    def __init__(self) -> None:
        try:
            from pocketsphinx import Decoder
        except ImportError as error:
            raise BackendError(MISSING, "pocketsphinx") from error
        self._decoder = Decoder(samprate=RATE, loglevel="FATAL")

    def recognize(self, samples: "Samples") -> Sequence[SpokenWord]:
        """The words, with their posterior probability as confidence. Fillers such as breath are no words."""
        self._decoder.start_utt()
        self._decoder.process_raw(samples.tobytes(), full_utt=True)
        self._decoder.end_utt()
        return [
            SpokenWord(
                _VARIANT.sub("", one.word),
                one.start_frame / _FRAMES,
                (one.end_frame + 1) / _FRAMES,
                min(1.0, one.prob),
            )
            for one in self._decoder.seg() or ()
            if one.word[0] not in "<["
        ]
