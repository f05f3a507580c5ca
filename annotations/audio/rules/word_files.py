"""Files with the words of a recording and their times: JSON, CTM, Praat's TextGrid and WebVTT."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from html import unescape
from typing import Any, Final

from annotations.audio.rules.words import SpokenWord, interpolated

MOST_BYTES: Final = 64 * 1024 * 1024
MOST_WORDS: Final = 500_000
LONGEST_WORD: Final = 200


class WordsError(ValueError):
    """A file of words can't be read; the message says what to change and quotes nothing of the file."""


def read_words(name: str, data: bytes) -> list[SpokenWord]:
    """Read the words of a file, by the ending of its name. Times are seconds. Raises WordsError."""
    reader = READERS.get(name.rpartition(".")[2].casefold())
    if reader is None:
        known = ", ".join(f".{ending}" for ending in READERS)
        raise WordsError(f"This file of words has an unknown ending. Known endings: {known}.")
    if len(data) > MOST_BYTES:
        raise WordsError("The file of words is larger than 64 MiB. Split the recording.")
    words = [word for word in reader(_decoded(data)) if word.word.strip()]
    if not words:
        raise WordsError("The file has no words.")
    if len(words) > MOST_WORDS:
        raise WordsError(f"The file has more than {MOST_WORDS} words. Split the recording.")
    if any(len(word.word) > LONGEST_WORD or "\0" in word.word for word in words):
        raise WordsError(f"A word of the file is longer than {LONGEST_WORD} characters, or has a NUL in it.")
    return words


def _decoded(data: bytes) -> str:
    # Praat writes UTF-16 with a byte order mark where Latin-1 does not suffice.
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise WordsError(f"The file of words is not UTF-8 (byte {error.start}). Convert it to UTF-8.") from None


def _json(text: str) -> Iterator[SpokenWord]:
    """A list of {"word", "start", "end"}, also under "words", and under "words" of each of "segments"."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise WordsError("The file of words is not JSON.") from None
    if isinstance(found, dict):
        segments = found.get("segments")
        nested = [one.get("words") for one in segments if isinstance(one, dict)] if isinstance(segments, list) else []
        found = found.get("words") or [word for words in nested if isinstance(words, list) for word in words]
    if not isinstance(found, list):
        raise WordsError("The JSON has no list of words: write [{“word”, “start”, “end”}, …], in seconds.")
    for number, one in enumerate(found, start=1):
        if not isinstance(one, dict) or not isinstance(one.get("word"), str):
            raise WordsError(f"Word {number} of the JSON is no object with “word”, “start” and “end”.")
        confidence = _number(one, "confidence", number)
        if confidence is None:
            confidence = _number(one, "probability", number)
        speaker = one.get("speaker")
        yield SpokenWord(
            one["word"], _number(one, "start", number), _number(one, "end", number), confidence,
            str(speaker)[:80] if speaker is not None else "",
        )  # fmt: skip


def _number(one: Mapping[str, Any], key: str, number: int) -> float | None:
    value = one.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise WordsError(f"“{key}” of word {number} of the JSON is not a number.")
    return float(value)


def _ctm(text: str) -> Iterator[SpokenWord]:
    """Lines “recording channel start duration word confidence”; the confidence may be missing."""
    recordings, channels = set(), set()
    found: list[tuple[str, SpokenWord]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith(";;"):
            continue
        fields = line.split()
        try:
            recording, channel, start, duration, word = fields[:5]
            begin, length = float(start), float(duration)
            confidence = float(fields[5]) if len(fields) > 5 and fields[5] != "NA" else None
        except ValueError:
            raise WordsError(f"Line {number} is not “recording channel start duration word”.") from None
        recordings.add(recording)
        channels.add(channel)
        found.append((channel, SpokenWord(word, begin, begin + length, confidence)))
    if len(recordings) > 1:
        raise WordsError("The CTM file has words of several recordings. Give each recording its own file.")
    for channel, one in found:
        named = f"channel {channel}" if len(channels) > 1 else ""
        yield SpokenWord(one.word, one.start, one.end, one.confidence, named)


_TOKEN: Final = re.compile(r'"((?:[^"]|"")*)"|(?<![\w\[.])(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![\w\]])')


def _textgrid(text: str) -> Iterator[SpokenWord]:
    """Interval tiers of Praat, long or short. Tiers named “words” are taken, one speaker each; or the only tier."""
    tokens: list[str | float] = [
        float(one[2]) if one[2] else one[1].replace('""', '"') for one in _TOKEN.finditer(text)
    ]
    if "TextGrid" not in tokens[:2]:
        raise WordsError("This is no TextGrid of Praat.")
    tiers: list[tuple[str, list[SpokenWord]]] = []
    try:
        at = 5  # file type, class, start, end, number of tiers
        while at < len(tokens):
            kind, name, count = tokens[at], str(tokens[at + 1]), int(tokens[at + 4])
            at += 5
            width = 3 if kind == "IntervalTier" else 2
            if kind == "IntervalTier":
                rows = [tokens[one : one + 3] for one in range(at, at + 3 * count, 3)]
                tiers.append((name, [w for start, end, mark in rows for w in _marked(str(mark), start, end)]))
            at += width * count
    except (IndexError, ValueError, TypeError):
        raise WordsError("The TextGrid ends in the middle of a tier, or a number in it is wrong.") from None
    chosen = [(name, words) for name, words in tiers if "word" in name.casefold()] or tiers
    if len(chosen) > 1 and len(chosen) == len(tiers):
        raise WordsError("The TextGrid has several tiers. Call the tiers of words “words”.")
    several = len(chosen) > 1
    words = [(word, name if several else "") for name, found in chosen for word in found]
    for word, speaker in sorted(words, key=lambda one: one[0].start or 0.0):
        yield SpokenWord(word.word, word.start, word.end, None, speaker[:80], word.rough)


def _marked(mark: str, start: Any, end: Any) -> list[SpokenWord]:
    words = mark.split()
    if len(words) == 1:
        return [SpokenWord(words[0], float(start), float(end))]
    return interpolated(words, float(start), float(end))


_CUE: Final = re.compile(r"((?:\d+:)?\d{1,2}:\d{2}[.,]\d{3})\s+-->\s+((?:\d+:)?\d{1,2}:\d{2}[.,]\d{3})")
_VOICE: Final = re.compile(r"<v(?:\.[^\s>]+)?\s+([^>]+)>")


def _vtt(text: str) -> Iterator[SpokenWord]:
    """Cues of WebVTT. Their words get interpolated times, and so a wider margin; `<v Name>` is the speaker."""
    if not text.startswith("WEBVTT"):
        raise WordsError("The file doesn't begin with “WEBVTT”.")
    for block in re.split(r"\n\s*\n", text.replace("\r\n", "\n").replace("\r", "\n")):
        timing = _CUE.search(block)
        if timing is None:
            continue
        start, end = (_seconds(one) for one in timing.groups())
        body = block[timing.end() :].partition("\n")[2]
        voices = _VOICE.split(body)
        # Text before the first voice, then voices and their texts in turn.
        parts = [("", voices[0]), *zip(voices[1::2], voices[2::2], strict=True)]
        spoken = [(unescape(who).strip(), unescape(re.sub(r"<[^>]*>", "", said)).split()) for who, said in parts]
        words = interpolated([word for _who, said in spoken for word in said], start, end)
        speakers = [who for who, said in spoken for _word in said]
        for word, speaker in zip(words, speakers, strict=True):
            yield SpokenWord(word.word, word.start, word.end, None, speaker[:80], rough=True)


def _seconds(text: str) -> float:
    seconds = 0.0
    for part in text.replace(",", ".").split(":"):
        seconds = seconds * 60 + float(part)
    return seconds


READERS: Final[Mapping[str, Callable[[str], Iterator[SpokenWord]]]] = {
    "json": _json,
    "ctm": _ctm,
    "textgrid": _textgrid,
    "vtt": _vtt,
}
