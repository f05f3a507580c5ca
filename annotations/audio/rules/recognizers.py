"""The names of recognizers, which workers load (models_runtime.backends.speech)."""

from typing import Final

POCKETSPHINX: Final = "pocketsphinx"
WHISPER: Final = "faster-whisper"
"""With a folder of weights after a colon: faster-whisper:small."""


def is_recognizer(spec: str) -> bool:
    """Whether this is pocketsphinx, or faster-whisper with the name of a folder of weights."""
    name, _colon, folder = spec.partition(":")
    if name == POCKETSPHINX:
        return spec == POCKETSPHINX
    return name == WHISPER and bool(folder) and folder not in (".", "..") and not set(folder) & set("/\\\0")
