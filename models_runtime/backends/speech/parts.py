"""A recording in parts for a recognizer: one channel at RATE, cut where nobody speaks, at flat memory."""

from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Final, NamedTuple

from annotations.audio.rules.intervals import Stretch
from annotations.audio.rules.sound import AudioError, decoded, facts_of
from models_runtime.backends.base import BackendError
from models_runtime.backends.speech.base import MISSING, RATE, VoiceDetector

if TYPE_CHECKING:
    from models_runtime.backends.speech.base import Samples

SHORTEST: Final = 10
LONGEST: Final = 30
"""Seconds of a part. Whisper looks at 30 s at once."""
PAUSE: Final = 0.25
"""A part ends in a pause of so many seconds, if there is one."""


class RecordingPart(NamedTuple):
    """A part of a recording: `start` and `end` in seconds of the recording, those of `voiced` from its `start`."""

    start: float
    end: float
    samples: "Samples"
    voiced: Sequence[Stretch]


def parts_of(file: IO[bytes], detector: VoiceDetector, start: float = 0.0) -> Iterator[RecordingPart]:
    """Yield the parts from `start` (seconds) on. Raises BackendError for a recording that can't be decoded."""
    import numpy

    held: Samples = numpy.zeros(0, numpy.int16)
    at = start
    try:
        for block in _resampled(file, start):
            held = numpy.concatenate([held, block])
            while len(held) >= LONGEST * RATE:
                whole = held[: LONGEST * RATE]
                cut = _cut(detector.voiced(whole))
                yield _part(at, whole[:cut], detector)
                at, held = at + cut / RATE, held[cut:]
    except AudioError as error:
        raise BackendError(str(error)) from error
    if len(held):
        yield _part(at, held, detector)


def _part(at: float, samples: "Samples", detector: VoiceDetector) -> RecordingPart:
    return RecordingPart(at, at + len(samples) / RATE, samples, detector.voiced(samples))


def _cut(voiced: Sequence[Stretch]) -> int:
    """The sample in the middle of the last pause from SHORTEST on; LONGEST without one."""
    edges = [*voiced, Stretch(LONGEST, LONGEST)]
    for before, after in zip(reversed([Stretch(0, 0), *voiced]), reversed(edges), strict=True):
        middle = (before.end + after.start) / 2
        if after.start - before.end >= PAUSE and middle >= SHORTEST:
            return int(middle * RATE)
    return LONGEST * RATE


def _resampled(file: IO[bytes], start: float) -> "Iterator[Samples]":
    """The mean of the channels at RATE, in blocks."""
    import numpy

    facts = facts_of(file)
    mono = (
        numpy.clip(numpy.nan_to_num(block.mean(axis=1)), -1, 1)
        for block in decoded(file, "float32", int(start * facts.rate))
    )
    if facts.rate == RATE:
        yield from (numpy.round(block * (2**15 - 1)).astype(numpy.int16) for block in mono)
        return
    try:
        import av
    except ImportError as error:
        raise BackendError(MISSING, "av") from error
    resampler = av.AudioResampler(format="s16", layout="mono", rate=RATE)
    for block in mono:
        frame = av.AudioFrame.from_ndarray(block[None, :].astype(numpy.float32), format="flt", layout="mono")
        frame.sample_rate = facts.rate
        yield from (one.to_ndarray()[0] for one in resampler.resample(frame))
    yield from (one.to_ndarray()[0] for one in resampler.resample(None))
