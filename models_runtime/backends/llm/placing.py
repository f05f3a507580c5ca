"""Where in a text the mentions stand that a model named. Offsets are code points; nothing is ever guessed.

A mention comes with a few words around it, so that "76 years old" marks the age and not "76 mg" (004, A.4).
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from annotations.domain.tokens import tokenize
from annotations.domain.whitespace import WHITE_SPACE
from models_runtime.backends.llm.answers import Mention

Place = tuple[int, int]
# What is longer is no entity but a stretch of the note.
MOST_WORDS: Final = 30
MOST_CHARACTERS: Final = 300


@dataclass(frozen=True)
class Placed:
    """`found`: start, end and type. The rest are counts of mentions that were left out.

    `hallucinated`: not in the text; `ambiguous`: at several places, and the words around don't say which; `too_long`.
    """

    found: list[tuple[int, int, str]]
    hallucinated: int
    ambiguous: int
    too_long: int


def place(text: str, mentions: Sequence[Mention]) -> Placed:
    """The places of the mentions, sorted, each once."""
    found: set[tuple[int, int, str]] = set()
    undecided: Counter[tuple[str, str]] = Counter()
    hallucinated = too_long = 0
    there: dict[str, list[Place]] = {}
    for (words, kind, context), times in Counter((one.text, one.type, one.context) for one in mentions).items():
        if is_too_long(words):
            too_long += times
            continue
        if words not in there:
            there[words] = _occurrences(text, words)
        places = there[words]
        if not places:
            hallucinated += times
            continue
        hits = places if len(places) == 1 else _by_context(text, words, context, places)
        found.update((start, end, kind) for start, end in hits)
        if not hits:
            undecided[words, kind] += times
    ambiguous = 0
    for (words, kind), times in undecided.items():
        left = [one for one in there[words] if (*one, kind) not in found]
        if times >= len(left):  # as many mentions as places: each has its own
            found.update((start, end, kind) for start, end in left)
        else:
            ambiguous += times
    return Placed(sorted(found), hallucinated, ambiguous, too_long)


def is_too_long(words: str) -> bool:
    return len(words) > MOST_CHARACTERS or len(words.split()) > MOST_WORDS


def _by_context(text: str, words: str, context: str, places: list[Place]) -> list[Place]:
    """The places that the words around single out. The same words at several places: the same reading at each."""
    if len(context.split()) > len(words.split()):
        inside = [_within(places, *around) for around in _occurrences(text, context)]
        if inside and all(len(hits) == 1 for hits in inside):
            return sorted({hits[0] for hits in inside})
    return _by_neighbours(text, words, context, places)


def _within(places: list[Place], start: int, end: int) -> list[Place]:
    first = bisect_left(places, (start, start))
    return [one for one in places[first : bisect_left(places, (end, end))] if one[1] <= end]


def _by_neighbours(text: str, words: str, context: str, places: list[Place]) -> list[Place]:
    """The one place with the most of the context's next words on either side: the context isn't there as a whole."""
    parts = context.split(words)
    if len(parts) != 2:
        return []
    before, after = parts[0].split()[::-1], parts[1].split()
    scores = [
        _shared(before, text[max(0, start - 200) : start].split()[::-1]) + _shared(after, text[end : end + 200].split())
        for start, end in places
    ]
    best = max(scores)
    return [places[scores.index(best)]] if best and scores.count(best) == 1 else []


def _shared(words: list[str], there: list[str]) -> int:
    """How many words the two lists have in common before they part."""
    count = 0
    for one, other in zip(words, there, strict=False):
        if one.strip(".,;:()") != other.strip(".,;:()"):
            break
        count += 1
    return count


def _occurrences(text: str, words: str) -> list[Place]:
    """Where the words stand, whatever white space is between them: whole tokens if there are any; else in any case."""
    parts = [re.escape(part) for part in words.split()]
    if not parts:
        return []
    for flags in (re.NOFLAG, re.IGNORECASE):
        places = [match.span() for match in re.finditer(r"\s+".join(parts), text, flags)]
        if places:
            return [one for one in places if _is_whole(text, *one)] or places
    return []


def _is_whole(text: str, start: int, end: int) -> bool:
    return not (_joined(text, start) or _joined(text, end))


def _joined(text: str, at: int) -> bool:
    """Whether the characters on both sides belong to one token."""
    around = text[max(0, at - 1) : at + 1]
    return len(around) == 2 and WHITE_SPACE.isdisjoint(around) and len(tokenize(around)) == 1
