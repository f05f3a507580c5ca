"""Gaps in a transcript, as a language model sees and judges them (Singh et al. 2025, sections 4.8, A.5.1 and B.3)."""

import json
import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, Final

from annotations.audio.rules.intervals import Stretch
from annotations.audio.rules.words import TimedWord

MUTED: Final = "[MUTED]"
UNKNOWN: Final = "UNKNOWN"
HARMLESS: Final = "NON-PHI"
PERSONAL: Final = "PHI"
AROUND: Final = 30
"""Words before and after a gap that the model is shown."""
# Entity types that describe a person and don't name one, by the lists of Singh et al. 2025. All others are names.
_CONTEXT: Final = frozenset(
    {"AGE", "DATE", "OCCUPATION", "PROFESSION", "RACE", "ETHNICITY", "MARITAL_STATUS", "PARENTHOOD", "DIAGNOSIS"}
)


class GapSort(StrEnum):
    """What a muted gap holds (section 4.8): something that names a person, something that describes one, or noise."""

    NAME = "name"
    CONTEXT = "context"
    NOISE = "noise"


def clock(seconds: float) -> str:
    """A time as in the source: minutes, seconds and hundredths, “00:07.42”."""
    hundredths = round(seconds * 100)
    return f"{hundredths // 6000:02d}:{hundredths % 6000 // 100:02d}.{hundredths % 100:02d}"


def key_of(gap: Stretch) -> str:
    return f"{clock(gap.start)} - {clock(gap.end)}"


def marker(gap: Stretch) -> str:
    return f"<human_timestamp_({key_of(gap)})>"


def with_markers(text: str, words: Sequence[TimedWord], gaps: Iterable[Stretch]) -> str:
    """The transcript with a marker where each gap is: before the first word that begins after it."""
    return _inserted(text, words, [(gap, marker(gap)) for gap in gaps], ())


def excerpt_with(text: str, words: Sequence[TimedWord], gaps: Sequence[Stretch]) -> str:
    """The part of the transcript around neighboring gaps, with their markers: AROUND words on both sides."""
    first = sum(word.finish <= gaps[0].start for word in words)
    last = sum(word.begin < gaps[-1].end for word in words)
    some = words[max(0, first - AROUND) : last + AROUND]
    if not some:
        return " ".join(marker(gap) for gap in gaps)
    start, end = some[0].start, some[-1].end
    moved = [word._replace(start=word.start - start, end=word.end - start) for word in some]
    return with_markers(text[start:end], moved, gaps)


def heard_text(
    text: str, words: Sequence[TimedWord], replaced: Iterable[tuple[int, int, str]], gaps: Iterable[Stretch]
) -> str:
    """The transcript of the muted recording: spans replaced (start, end, new text), and [MUTED] for muted gaps."""
    return _inserted(text, words, [(gap, MUTED) for gap in gaps], replaced)


def _inserted(
    text: str, words: Sequence[TimedWord], gaps: Iterable[tuple[Stretch, str]], replaced: Iterable[tuple[int, int, str]]
) -> str:
    changes = list(replaced)
    for gap, mark in gaps:
        before = next((word.start for word in words if word.begin >= gap.end - 1e-6), None)
        changes.append((len(text), len(text), f" {mark}") if before is None else (before, before, f"{mark} "))
    parts: list[str] = []
    done = 0
    for start, end, new in sorted(changes, key=lambda one: one[:2]):
        if start < done:
            continue
        parts += (text[done:start], new)
        done = max(done, end)
    return "".join([*parts, text[done:]]).strip()


_TIMES: Final = re.compile(r"(\d+:\d{2}\.\d{1,3})\s*[-–]\s*(\d+:\d{2}\.\d{1,3})")
_LINE: Final = re.compile(r"<?human_timestamp_\(([^)]*)\)>?[\s:*`\"”-]*([A-Z][A-Z_/-]*)")


def read_verdicts(answer: str, gaps: Sequence[Stretch], types: Iterable[str] = ()) -> dict[Stretch, str]:
    """What a model says about each gap: a type of entity, PHI, HARMLESS or UNKNOWN.

    The answer is a JSON object of types by timestamp (B.3), or lines with PHI/PII or NON-PHI/PII (A.5.1). A gap is
    UNKNOWN if the answer says nothing readable about it, or two different things. Other timestamps are ignored.
    """
    known = {one.upper() for one in types} | {PERSONAL, HARMLESS, UNKNOWN}
    said: dict[str, set[str]] = {}
    for key, value in _pairs(answer):
        times = _TIMES.search(key)
        if times:
            said.setdefault(f"{times[1]} - {times[2]}", set()).add(_verdict(value, known))
    return {gap: _only(said.get(key_of(gap), set())) for gap in gaps}


def _pairs(answer: str) -> Iterable[tuple[str, str]]:
    found: Any = None
    start, end = answer.find("{"), answer.rfind("}")
    if 0 <= start < end:
        try:
            found = json.loads(answer[start : end + 1], object_pairs_hook=list)
        except (ValueError, RecursionError):
            found = None
    if isinstance(found, list):
        return [(one[0], one[1]) for one in found if isinstance(one, tuple) and isinstance(one[1], str)]
    return _LINE.findall(answer)


def _verdict(value: str, known: Iterable[str]) -> str:
    said = value.strip().upper().removesuffix("/PII")
    return said if said in known else UNKNOWN


def _only(said: set[str]) -> str:
    return said.pop() if len(said) == 1 else UNKNOWN


def sort_of(verdict: str) -> str:
    """The GapSort of a verdict; empty for a verdict that doesn't say what the gap holds."""
    if verdict in (UNKNOWN, PERSONAL, ""):
        return ""
    if verdict == HARMLESS:
        return GapSort.NOISE
    return GapSort.CONTEXT if verdict in _CONTEXT else GapSort.NAME
