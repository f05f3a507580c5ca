"""Spoken words with times, and the transcript that they make."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

TOLERANCE: Final = 0.02
"""Words may overlap by so many seconds: recognizers round."""


@dataclass(frozen=True, slots=True)
class SpokenWord:
    """A word as a recognizer or a file gives it. Times in seconds; None where there is none.

    `confidence`: from 0 to 1, None if unknown. `rough`: the times were interpolated.
    """

    word: str
    start: float | None
    end: float | None
    confidence: float | None = None
    speaker: str = ""
    rough: bool = False


class TimedWord(NamedTuple):
    """A word of a transcript: `start` and `end` in code points (end-exclusive), `begin` and `finish` in seconds."""

    start: int
    end: int
    begin: float
    finish: float
    confidence: float | None
    speaker: str
    rough: bool


@dataclass(frozen=True)
class Transcript:
    """The text of a note, and its words. `widened` counts the words whose times were wrong or missing."""

    text: str
    words: Sequence[TimedWord]
    widened: int


def transcript_of(words: Sequence[SpokenWord], duration: float) -> Transcript:
    """Write words as a text: one space between words, and a new line where the speaker changes."""
    times, widened = widened_times(words, duration)
    parts: list[str] = []
    timed: list[TimedWord] = []
    length = 0
    for at, (word, (begin, finish)) in enumerate(zip(words, times, strict=True)):
        text = " ".join(word.word.split())
        if at:
            parts.append(" " if word.speaker == words[at - 1].speaker else "\n")
            length += 1
        timed.append(TimedWord(length, length + len(text), begin, finish, word.confidence, word.speaker, word.rough))
        parts.append(text)
        length += len(text)
    return Transcript("".join(parts), timed, widened)


def widened_times(words: Sequence[SpokenWord], duration: float) -> tuple[list[tuple[float, float]], int]:
    """A begin and a finish for every word, and how many words had wrong times.

    A word without times, or whose end is not after its start, gets the time between its neighbors, and its own. Words
    that overlap, or whose order contradicts their times, both get the time of both: nobody knows which one is right.
    """
    sound = [_sound(word, duration) for word in words]
    times = _completed(sound, words, duration)
    wide = list(times)
    wrong = {at for at, one in enumerate(sound) if one is None}
    last: dict[str, int] = {}
    for at, word in enumerate(words):
        if sound[at] is None:
            continue
        # Two people may talk at the same time.
        before, last[word.speaker] = last.get(word.speaker), at
        if before is None or times[at][0] >= times[before][1] - TOLERANCE:
            continue
        both = min(times[before][0], times[at][0]), max(times[before][1], times[at][1])
        for one in (before, at):
            wide[one] = min(both[0], wide[one][0]), max(both[1], wide[one][1])
            wrong.add(one)
    return wide, len(wrong)


def _sound(word: SpokenWord, duration: float) -> tuple[float, float] | None:
    """The times of a word within the recording; None where they can't be right."""
    start, end = word.start, word.end
    if start is None or end is None or not (math.isfinite(start) and math.isfinite(end)):
        return None
    start, end = max(0.0, start), min(end, duration)
    return (start, end) if start < end else None


def _completed(
    times: Sequence[tuple[float, float] | None], words: Sequence[SpokenWord], duration: float
) -> list[tuple[float, float]]:
    """The times, and for a word without times those between its neighbors that have some."""
    after = [(duration, duration)] * len(times)
    for at in range(len(times) - 2, -1, -1):
        after[at] = times[at + 1] or after[at + 1]
    found: list[tuple[float, float]] = []
    before = (0.0, 0.0)
    for one, following, word in zip(times, after, words, strict=True):
        found.append(one or _between(before, following, duration, word))
        before = one or before
    return found


def _between(
    before: tuple[float, float], after: tuple[float, float], duration: float, word: SpokenWord
) -> tuple[float, float]:
    """The time from the neighbor before to the neighbor after, wider by those neighbors if nothing is between them."""
    start, end = before[1], after[0]
    if end - start <= TOLERANCE:
        start, end = min(before[0], after[0]), max(before[1], after[1])
    own = [one for one in (word.start, word.end) if one is not None and math.isfinite(one)]
    own = [min(max(one, 0.0), duration) for one in own]
    return min([start, *own]), max([end, *own])


def interpolated(words: Sequence[str], start: float, end: float, speaker: str = "") -> list[SpokenWord]:
    """Words of a segment whose own times are unknown: each gets a part of the time by its length."""
    total = sum(len(word) for word in words)
    found: list[SpokenWord] = []
    done = 0
    for word in words:
        first, last = done / total, (done + len(word)) / total
        span = end - start
        found.append(SpokenWord(word, start + first * span, start + last * span, None, speaker, rough=True))
        done += len(word)
    return found


def shifted(words: Sequence[SpokenWord], seconds: float) -> list[SpokenWord]:
    """The words of a part of a recording that begins at `seconds`."""
    return [
        replace(
            word,
            start=None if word.start is None else word.start + seconds,
            end=None if word.end is None else word.end + seconds,
        )
        for word in words
    ]
