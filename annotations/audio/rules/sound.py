"""Recordings as files: what they are, muted copies, excerpts and peaks. Files are read in blocks, at flat memory.

libsndfile (the package soundfile) decodes them. It is an optional extra, so it is loaded on first use.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import IO, Any, Final

from annotations.audio.rules.intervals import Interval
from annotations.text.wording import WordedError
from annotations.text.wording import gettext as _

BLOCK: Final = 1 << 18
"""Samples of all channels that are decoded at once."""
FORMATS: Final = {"WAV", "WAVEX", "RF64", "FLAC", "MP3", "OGG"}
PEAKS_A_SECOND: Final = 20
MOST_SECONDS: Final = 12 * 3600
MOST_SAMPLES: Final = MOST_SECONDS * 48_000 * 2
"""Samples of all channels: silence is a small file, and would fill a disk as a copy."""
RATES: Final = range(1_000, 400_000)
MOST_CHANNELS: Final = 32
LARGEST_WAV: Final = 1 << 31
"""Bytes of samples. A larger copy is an RF64 file, since WAV counts to 4 GiB, and some programs only to 2."""
TONE_HERTZ: Final = 1000.0
_TONE_LOUDNESS: Final = 0.1
# Integers stay integers; everything else is decoded to floating point numbers and written as such.
_WRITTEN: Final = {
    "PCM_S8": ("int16", "PCM_S8"), "PCM_U8": ("int16", "PCM_U8"), "PCM_16": ("int16", "PCM_16"),
    "ULAW": ("int16", "PCM_16"), "ALAW": ("int16", "PCM_16"), "IMA_ADPCM": ("int16", "PCM_16"),
    "MS_ADPCM": ("int16", "PCM_16"), "PCM_24": ("int32", "PCM_24"), "PCM_32": ("int32", "PCM_32"),
    "DOUBLE": ("float64", "DOUBLE"),
}  # fmt: skip


class AudioError(WordedError, ValueError):
    """A recording can't be read; the message says what to do."""


class AudioMissing(AudioError):
    """The packages of the extra `audio` are not installed."""

    def __init__(self) -> None:
        super().__init__(_("Recordings need the packages of the extra “audio”. Install them with “make setup-audio”."))


def library() -> Any:
    """The package soundfile. Raises AudioMissing."""
    try:
        import soundfile
    except (ImportError, OSError) as error:
        raise AudioMissing from error
    return soundfile


@dataclass(frozen=True)
class SoundFacts:
    """What a recording is. `frames`: samples of each channel; `rate`: samples a second."""

    format: str
    subtype: str
    rate: int
    channels: int
    frames: int

    @property
    def duration(self) -> float:
        return self.frames / self.rate

    @property
    def written(self) -> tuple[str, str]:
        """The type of numbers to which the recording is decoded, and the subtype of a muted copy."""
        return _WRITTEN.get(self.subtype, ("float32", "FLOAT"))

    @property
    def container(self) -> str:
        """The format of a muted copy: FLAC of FLAC, else WAV, or its large form where WAV is too small."""
        if self.format == "FLAC":
            return "FLAC"
        size = {"int16": 2, "float64": 8}.get(self.written[0], 4)
        return "WAV" if self.frames * self.channels * size < LARGEST_WAV else "RF64"

    @property
    def ending(self) -> str:
        return "flac" if self.format == "FLAC" else "wav"


def facts_of(file: IO[bytes]) -> SoundFacts:
    """What a recording is. Raises AudioError."""
    found = _opened(file)
    facts = SoundFacts(found.format, found.subtype, found.samplerate, found.channels, found.frames)
    if facts.format not in FORMATS:
        raise AudioError("This is no WAV, FLAC, MP3 or OGG file. Convert the recording.")
    if not facts.frames:
        raise AudioError("The recording is empty.")
    if facts.rate not in RATES or facts.channels > MOST_CHANNELS:
        raise AudioError(
            "A recording must have {least:,} to {most:,} samples a second, and at most {channels} channels. "
            "Convert it.",
            *(RATES.start, RATES.stop, MOST_CHANNELS),
        )
    _check_length(facts, facts.frames)
    return facts


def _check_length(facts: SoundFacts, frames: int) -> None:
    """Raise AudioError for more than MOST_SECONDS or MOST_SAMPLES. A file may also say nothing about its length."""
    if frames > MOST_SECONDS * facts.rate or frames * facts.channels > MOST_SAMPLES:
        raise AudioError(
            "The recording is longer than 12 hours, has more samples than 12 hours of 48 kHz in two channels, or "
            "doesn't say how long it is. Split it, or save it anew with a usual rate."
        )


def _opened(file: IO[bytes]) -> Any:
    soundfile = library()
    file.seek(0)
    try:
        return soundfile.SoundFile(file)
    except soundfile.LibsndfileError:
        raise AudioError("The recording can't be decoded. It must be WAV, FLAC, MP3 or OGG.") from None


def decoded(file: IO[bytes], dtype: str, start: int = 0) -> Iterator[Any]:
    """The samples from `start` on in blocks, each of shape (samples, channels). Raises AudioError if they end early."""
    soundfile = library()
    with _opened(file) as source:
        try:
            if start:
                source.seek(start)
            while len(block := source.read(BLOCK // source.channels, dtype=dtype, always_2d=True)):
                yield block
        except soundfile.LibsndfileError:
            raise AudioError("The recording is damaged: decoding stopped in the middle. Export it again.") from None


def peaks_of(file: IO[bytes], facts: SoundFacts) -> tuple[list[int], int]:
    """The loudest sample of every twentieth of a second, from 0 to 100, and the number of samples that were decoded."""
    import numpy

    size = max(1, facts.rate // PEAKS_A_SECOND)
    peaks: list[int] = []
    left = numpy.zeros(0, numpy.float32)
    frames = 0
    for block in decoded(file, "float32"):
        frames += len(block)
        _check_length(facts, frames)
        loud = numpy.concatenate([left, numpy.abs(block).max(axis=1)])
        whole = len(loud) // size * size
        # A damaged file of floating point numbers may have values that are none.
        found = numpy.nan_to_num(loud[:whole].reshape(-1, size).max(axis=1), nan=0.0, posinf=1.0)
        peaks += [min(100, round(float(one) * 100)) for one in found]
        left = loud[whole:]
    if len(left):
        peaks.append(min(100, round(float(numpy.nan_to_num(left.max())) * 100)))
    return peaks, frames


def write_muted(
    source: IO[bytes],
    target: IO[bytes],
    intervals: Sequence[Interval],
    *,
    tone: bool = False,
    start: int = 0,
    end: int | None = None,
) -> int:
    """Write a copy in which the intervals are silent: exactly zero, or a tone. Return the number of samples.

    Outside the intervals, the copy has the decoded samples, bit for bit. It has no tags. `start` and `end` in samples
    make it an excerpt. Raises AudioError.
    """
    facts = facts_of(source)
    dtype, subtype = facts.written
    bounds = [(int(one.start * facts.rate), ceil(one.end * facts.rate)) for one in intervals]
    soundfile = library()
    at, first = start, 0
    with soundfile.SoundFile(
        target, "w", samplerate=facts.rate, channels=facts.channels, format=facts.container, subtype=subtype
    ) as out:
        for block in decoded(source, dtype, start):
            block = block[: None if end is None else end - at]
            while first < len(bounds) and bounds[first][1] <= at:
                first += 1
            for low, high in bounds[first:]:
                if low >= at + len(block):
                    break
                some = slice(max(low - at, 0), high - at)
                block[some] = _tone(at + (some.start or 0), len(block[some]), facts.rate, dtype) if tone else 0
            try:
                out.write(block)
            except (AssertionError, soundfile.LibsndfileError):  # soundfile asserts that all was written.
                raise AudioError("The muted copy can't be written. Is the disk for temporary files full?") from None
            at += len(block)
            if end is not None and at >= end:
                break
    return at - start


def _tone(start: int, length: int, rate: int, dtype: str) -> Any:
    import numpy

    wave = numpy.sin(2 * numpy.pi * TONE_HERTZ * (start + numpy.arange(length)) / rate) * _TONE_LOUDNESS
    full = {"int16": 2**15 - 1, "int32": 2**31 - 1}.get(dtype, 1)
    return (wave * full).astype(dtype)[:, None]


def tags_of(file: IO[bytes]) -> dict[str, str]:
    """The tags of a recording that libsndfile knows, such as title and artist."""
    with _opened(file) as source:
        return dict(source.copy_metadata())
