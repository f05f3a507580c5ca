"""Speech for tests: espeak-ng speaks a text through its library, which also tells when each word is said."""

import ctypes
import io
from dataclasses import dataclass
from functools import cache

import espeakng_loader
import numpy
import soundfile

RATE = 22050


@dataclass(frozen=True)
class Speech:
    """Samples (int16) at RATE, and the words with begin and end in seconds."""

    samples: numpy.ndarray
    words: tuple[tuple[str, float, float], ...]

    def file(self, format="WAV", subtype="PCM_16", **more):
        out = io.BytesIO()
        soundfile.write(out, self.samples, RATE, format=format, subtype=subtype)
        out.seek(0)
        return out

    @property
    def as_json(self):
        return [{"word": word, "start": start, "end": end} for word, start, end in self.words]


class _Id(ctypes.Union):
    _fields_ = [("number", ctypes.c_int), ("name", ctypes.c_char_p), ("string", ctypes.c_char * 8)]


class _Event(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int), ("unique_identifier", ctypes.c_uint), ("text_position", ctypes.c_int),
        ("length", ctypes.c_int), ("audio_position", ctypes.c_int), ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p), ("id", _Id),
    ]  # fmt: skip


_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(_Event))
_SYNCHRONOUS, _WORD, _END_OF_TEXT = 2, 1, 0
_UTF8 = 1


@cache
def _library():
    found = ctypes.CDLL(espeakng_loader.get_library_path())
    path = str(espeakng_loader.get_data_path()).removesuffix("espeak-ng-data").encode()
    if found.espeak_Initialize(_SYNCHRONOUS, 0, path, 0) != RATE:
        raise RuntimeError("espeak-ng can't be initialized.")
    return found


@cache
def speak(text: str, voice: str = "en-us", speed: int = 150) -> Speech:
    """Speak a text of ASCII words. A word ends where the next one begins."""
    library = _library()
    chunks: list[numpy.ndarray] = []
    events: list[tuple[int, float]] = []

    def heard(samples, count, found):
        if count > 0 and samples:
            chunks.append(numpy.ctypeslib.as_array(samples, (count,)).copy())
        at = 0
        while found[at].type != _END_OF_TEXT:
            if found[at].type == _WORD:
                events.append((found[at].text_position - 1, found[at].audio_position / 1000))
            at += 1
        return 0

    callback = _CALLBACK(heard)
    library.espeak_SetSynthCallback(callback)
    library.espeak_SetVoiceByName(voice.encode())
    library.espeak_SetParameter(1, speed, 0)
    data = text.encode()
    library.espeak_Synth(data, len(data) + 1, 0, 0, 0, _UTF8, None, None)
    library.espeak_Synchronize()
    samples = numpy.concatenate(chunks)
    length = len(samples) / RATE
    words: list[tuple[str, float, float]] = []
    position = 0
    begins = dict(events)
    for word in text.split():
        position = text.index(word, position)
        inside = [begin for at, begin in begins.items() if position <= at < position + len(word)]
        if inside:
            words.append((word, min(inside), length))
        position += len(word)
    ends = [begin for _word, begin, _end in words[1:]] + [length]
    timed = tuple((word, begin, end) for (word, begin, _end), end in zip(words, ends, strict=True))
    return Speech(samples, timed)
