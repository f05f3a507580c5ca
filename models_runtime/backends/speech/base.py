"""What recognizers and detectors of voices are."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

from annotations.audio.rules.intervals import Stretch
from annotations.audio.rules.words import SpokenWord
from annotations.text.wording import gettext_noop

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Samples = NDArray[numpy.int16]
    """One channel at RATE."""

RATE: Final = 16_000
"""Samples a second of what recognizers and detectors get."""
MISSING: Final = gettext_noop(
    "This worker lacks the package {package}. Install the extra “audio” there with “make setup-audio”."
)


class Recognizer(Protocol):
    """Finds words. Times are seconds from the beginning of the samples. Raises BackendError."""

    def recognize(self, samples: "Samples") -> Sequence[SpokenWord]: ...


class VoiceDetector(Protocol):
    """Finds where somebody speaks, rather too much than too little, in seconds from the beginning of the samples."""

    name: str

    def voiced(self, samples: "Samples") -> list[Stretch]: ...
