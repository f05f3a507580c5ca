"""Files with the words of a recording and their times: JSON, CTM, Praat's TextGrid and WebVTT."""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from html import unescape
from typing import Any, Final

from annotations.audio.rules.words import SpokenWord, interpolated
from annotations.text.names import unkeepable
from annotations.text.wording import WordedError

MOST_BYTES: Final = 64 * 1024 * 1024
MOST_WORDS: Final = 500_000
LONGEST_WORD: Final = 200


class WordsError(WordedError, ValueError):
    """A file of words can't be read; the message says what to change and quotes nothing of the file."""


def read_words(name: str, data: bytes) -> list[SpokenWord]:
    """Read the words of a file, by the ending of its name. Times are seconds. Raises WordsError."""
    reader = READERS.get(name.rpartition(".")[2].casefold())
    if reader is None:
        known = ", ".join(f".{ending}" for ending in READERS)
        raise WordsError("This file of words has an unknown ending. Known endings: {known}.", known)
    if len(data) > MOST_BYTES:
        raise WordsError("The file of words is larger than 64 MiB. Split the recording.")
    words = [_finite(word) for word in reader(_decoded(data)) if word.word.strip()]
    if not words:
        raise WordsError("The file has no words.")
    if len(words) > MOST_WORDS:
        raise WordsError("The file has more than {most} words. Split the recording.", MOST_WORDS)
    for number, word in enumerate(words, start=1):
        if len(word.word) > LONGEST_WORD or unkeepable(word.word) or unkeepable(word.speaker):
            raise WordsError(
                "Word {number} of the file is longer than {most} characters, or it or its speaker has a character "
                "that can't be stored (NUL or half of a surrogate pair).",
                *(number, LONGEST_WORD),
            )
        if word.confidence is not None and not 0 <= word.confidence <= 1:
            raise WordsError("The confidence of word {n} is not between 0 and 1. Convert it, or leave it out.", number)
    return words


def _finite(word: SpokenWord) -> SpokenWord:
    """The word without times that are no numbers. A confidence that is rounded to just over 1 is 1."""
    start, end = (None if time is None or not math.isfinite(time) else time for time in (word.start, word.end))
    sure = word.confidence
    return replace(word, start=start, end=end, confidence=1.0 if sure is not None and 1 < sure < 1.001 else sure)


def _decoded(data: bytes) -> str:
    # Praat writes UTF-16 with a byte order mark where Latin-1 does not suffice.
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise WordsError("The file of words is not UTF-8 (byte {offset}). Convert it to UTF-8.", error.start) from None


def _json(text: str) -> Iterator[SpokenWord]:
    """A list of {"word", "start", "end"}, also under "words", and under "words" of each of "segments".

    The text of a segment without words is taken like a cue of WebVTT.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise WordsError("The file of words is not JSON.") from None
    if isinstance(found, dict):
        segments = found.get("segments")
        nested = [_of_segment(one) for one in segments] if isinstance(segments, list) else []
        found = found.get("words") or [word for words in nested for word in words]
    if not isinstance(found, list):
        raise WordsError("The JSON has no list of words: write [{“word”, “start”, “end”}, …], in seconds.")
    for number, one in enumerate(found, start=1):
        if isinstance(one, SpokenWord):
            yield one
            continue
        if not isinstance(one, dict) or not isinstance(one.get("word"), str):
            raise WordsError("Word {number} of the JSON is no object with “word”, “start” and “end”.", number)
        confidence = _number(one, "confidence", number)
        if confidence is None:
            confidence = _number(one, "probability", number)
        start, end = _number(one, "start", number), _number(one, "end", number)
        yield SpokenWord(one["word"], start, end, confidence, _speaker(one, number))


def _of_segment(segment: Any) -> list[Any]:
    """The words of a segment. Raises WordsError for one that has neither words nor a text with times."""
    words = segment.get("words") if isinstance(segment, dict) else None
    if isinstance(words, list) and words:
        return words
    if not isinstance(segment, dict) or not isinstance(segment.get("text", ""), str):
        raise WordsError("A segment of the JSON has neither “words” nor “text”.")
    start, end = (_number(segment, key, 1) for key in ("start", "end"))
    said = str(segment.get("text", "")).split()
    if start is None or end is None:
        return [SpokenWord(word, start, end, rough=True) for word in said]
    return list(interpolated(said, start, end, _speaker(segment, 1)))


def _speaker(one: Mapping[str, Any], number: int) -> str:
    speaker = one.get("speaker")
    if speaker is not None and not isinstance(speaker, (str, int)):
        raise WordsError("The speaker of word {number} of the JSON is no text.", number)
    return "" if speaker is None else str(speaker)[:80]


def _number(one: Mapping[str, Any], key: str, number: int) -> float | None:
    value = one.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise WordsError("“{key}” of word {number} of the JSON is not a number.", key, number)
    try:
        return float(value)
    except OverflowError:  # A whole number of hundreds of digits: no time at all.
        return math.nan


def _ctm(text: str) -> Iterator[SpokenWord]:
    """Lines “recording channel start duration word confidence”; the confidence may be missing."""
    recordings = set()
    found: list[tuple[float, str, SpokenWord]] = []
    last: dict[str, float] = {}  # By channel: a word without a time stays behind the one before it.
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith(";;"):
            continue
        fields = line.split()
        try:
            recording, channel, start, duration, word = fields[:5]
            begin, length = float(start), float(duration)
            confidence = float(fields[5]) if len(fields) > 5 and fields[5] != "NA" else None
        except ValueError:
            raise WordsError("Line {number} is not “recording channel start duration word”.", number) from None
        recordings.add(recording)
        last[channel] = begin if math.isfinite(begin) else last.get(channel, 0.0)
        found.append((last[channel], channel, SpokenWord(word, begin, begin + length, confidence)))
    if len(recordings) > 1:
        raise WordsError("The CTM file has words of several recordings. Give each recording its own file.")
    if len(last) > 1:  # Each channel comes as a whole.
        found.sort(key=lambda one: one[0])
    for _at, channel, one in found:
        yield replace(one, speaker=f"channel {channel}" if len(last) > 1 else "")


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
            if not 0 <= width * count <= len(tokens) - at:
                raise ValueError(count)
            if kind == "IntervalTier":
                rows = [tokens[one : one + 3] for one in range(at, at + 3 * count, 3)]
                tiers.append((name, [w for start, end, mark in rows for w in _marked(str(mark), start, end)]))
            at += width * count
    except (IndexError, ValueError, TypeError, OverflowError):
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
_TAG: Final = re.compile(r"</?[a-z][^<>]*>|<[\d:.]+>|</?>", re.I)


def _vtt(text: str) -> Iterator[SpokenWord]:
    """Cues of WebVTT. Their words get interpolated times, and so a wider margin; `<v Name>` is the speaker."""
    if not text.startswith("WEBVTT"):
        raise WordsError("The file doesn't begin with “WEBVTT”.")
    for block in re.split(r"\n\s*\n", text.replace("\r\n", "\n").replace("\r", "\n")):
        timing = _CUE.search(block)
        if timing is None:
            if "-->" in block and not block.lstrip().startswith("NOTE"):
                raise WordsError("A cue of the WebVTT has wrong times. They are written as 00:01.500 --> 00:02.250.")
            continue
        start, end = (_seconds(one) for one in timing.groups())
        body = block[timing.end() :].partition("\n")[2]
        voices = _VOICE.split(body)
        # Text before the first voice, then voices and their texts in turn.
        parts = [("", voices[0]), *zip(voices[1::2], voices[2::2], strict=True)]
        spoken = [(unescape(who).strip(), unescape(_TAG.sub("", said)).split()) for who, said in parts]
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
