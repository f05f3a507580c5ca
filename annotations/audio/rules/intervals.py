"""From spans of a transcript to the intervals of a recording that are muted (Singh et al. 2025, A.5, algorithm 2).

All times are seconds from the beginning of the recording.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from annotations.audio.rules.words import TimedWord
from annotations.text.spans import Bounds

MARGIN: Final = 0.2
"""The source adds 0.1 to 0.2 s, and 0.3 s in its example."""
MOST_MARGIN: Final = 5.0
ROUGH_MARGIN: Final = 0.5
"""What words with interpolated times get in addition."""
LEAST_GAP: Final = 0.1
"""A shorter gap can't hold a word (seconds); the shortest one of the source's example has 0.1 s."""
LEAST_CONFIDENCE: Final = 0.5
"""Words of a recognizer with a lower confidence are muted unless somebody decides otherwise."""
_CLOSE: Final = 1e-6


class Interval(NamedTuple):
    """A part of a recording that is muted. `cause`: label codes, “gap”, “confidence”, “person”, joined by “+”."""

    start: float
    end: float
    cause: str


class Stretch(NamedTuple):
    """A part of a recording, for example one in which a voice is heard."""

    start: float
    end: float


def spoken(words: Sequence[TimedWord], bounds: Bounds) -> Interval | None:
    """When a span of the transcript is spoken, without margin; None if it has no word. Its words are never cut."""
    first = bisect_right(words, bounds[0], key=lambda word: word.end)
    said = words[first : bisect_left(words, bounds[1], key=lambda word: word.start)]
    if not said:
        return None
    extra = ROUGH_MARGIN if any(word.rough for word in said) else 0.0
    return Interval(min(word.begin for word in said) - extra, max(word.finish for word in said) + extra, "")


def with_margins(intervals: Iterable[Interval], margin: float, duration: float) -> list[Interval]:
    """The intervals with a margin on both sides, within the recording; those that touch are one. In order."""
    merged: list[Interval] = []
    for one in sorted(intervals):
        start, end = max(0.0, one.start - margin), min(duration, one.end + margin)
        if start >= end:
            continue
        if merged and start <= merged[-1].end + _CLOSE:
            last = merged[-1]
            causes = dict.fromkeys([*last.cause.split("+"), *one.cause.split("+")])
            merged[-1] = Interval(last.start, max(last.end, end), "+".join(causes))
        else:
            merged.append(Interval(round(start, 6), end, one.cause))
    return [Interval(one.start, round(one.end, 6), one.cause) for one in merged]


def muted(
    words: Sequence[TimedWord],
    spans: Iterable[tuple[int, int, str]],
    others: Iterable[Interval],
    *,
    margin: float,
    duration: float,
) -> list[Interval]:
    """What to mute: the words of spans (start, end, label code), and other intervals, all with the margin."""
    found = list(others)
    for start, end, label in spans:
        said = spoken(words, (start, end))
        if said is not None:
            found.append(Interval(said.start, said.end, label))
    return with_margins(found, margin, duration)


def voiced_gaps(voiced: Iterable[Stretch], words: Iterable[TimedWord]) -> list[Stretch]:
    """Where a voice is heard and no word was recognized, from LEAST_GAP on. In order."""
    taken = sorted((word.begin, word.finish) for word in words)
    found: list[Stretch] = []
    first = 0
    for start, end in sorted(voiced):
        while first < len(taken) and taken[first][1] <= start:
            first += 1
        at = start
        for number in range(first, len(taken)):
            begin, finish = taken[number]
            if begin >= end:
                break
            if begin > at:
                found.append(Stretch(at, begin))
            at = max(at, finish)
        if at < end:
            found.append(Stretch(at, end))
    return [gap for gap in found if gap.end - gap.start >= LEAST_GAP - _CLOSE]


def doubtful(words: Iterable[TimedWord]) -> list[Interval]:
    """The words that a recognizer wasn't sure about; those that follow each other are one interval."""
    found: list[Interval] = []
    last: TimedWord | None = None
    for word in words:
        if word.confidence is not None and word.confidence < LEAST_CONFIDENCE:
            if found and last is not None and found[-1].end == last.finish:
                found[-1] = Interval(found[-1].start, max(word.finish, found[-1].end), "confidence")
            else:
                found.append(Interval(word.begin, word.finish, "confidence"))
        last = word
    return found


def seconds_of(intervals: Iterable[tuple[float, float, str]]) -> float:
    """How long the intervals are together."""
    return sum(end - start for start, end, _cause in intervals)
