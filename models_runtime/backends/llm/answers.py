"""Parse answers that should be JSON of a schema, as far as possible. Unreadable entries are counted, not repaired."""

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from annotations.text.characters import WHITE_SPACE
from annotations.text.spans import tokenize
from models_runtime.backends.base import BackendError
from models_runtime.backends.llm.asking import THOUGHT, list_schema
from models_runtime.backends.llm.driver import FoundSpan
from models_runtime.backends.llm.prompts import NOTHING

KEY: Final = "entities"
_DECODER: Final = json.JSONDecoder()
_LIST: Final = re.compile(rf'"{KEY}"\s*:\s*\[')

M = TypeVar("M", bound=BaseModel)


class Mention(BaseModel):
    """A mention: its exact text, its type, and a few words of context around it (Singh et al. 2025, section 3.1)."""

    model_config = ConfigDict(extra="ignore", strict=True)

    text: str = Field(min_length=1)
    type: str
    context: str = ""


class NumberedMention(Mention):
    """A mention in one of several records of a question, which are numbered from 1."""

    record: int = Field(ge=1)


@dataclass(frozen=True)
class ListedEntries(Generic[M]):
    """The entries of an answer, and the number of unreadable ones."""

    entries: list[M]
    broken: int


def schema_of(model: type[BaseModel], choices: dict[str, list[str]]) -> dict[str, Any]:
    """A strict JSON schema for {"entities": [model]}. `choices`: the allowed values of fields."""
    entry = model.model_json_schema()
    properties = {
        name: {"type": field["type"]} | ({"enum": choices[name]} if name in choices else {})
        for name, field in entry["properties"].items()
    }
    return list_schema(KEY, properties)


def listed(text: str, model: type[M]) -> ListedEntries[M]:
    """The entries of an answer. It may be fenced, surrounded by text, or cut off.

    Raises BackendError for an answer without a list, which doesn't count as “nothing found”.
    """
    begin = _LIST.search(text, max(text.find(THOUGHT), 0)) or _LIST.search(text)
    if begin is None:
        raise BackendError("The model's answer is not the requested JSON.", permanent=False)
    entries: list[M] = []
    broken, at = 0, begin.end()
    while (at := _next(text, at)) < len(text) and text[at] != "]":
        try:
            value, at = _DECODER.raw_decode(text, at)
            entries.append(model.model_validate(value))
        except ValidationError:
            broken += 1
        except (json.JSONDecodeError, RecursionError):
            broken += 1
            found = text.find("{", at + 1)
            at = found if found >= 0 else len(text)
    return ListedEntries(entries, broken)


def lines_of(text: str, kinds: Iterable[str]) -> ListedEntries[Mention]:
    """The entries of an answer in lines, each with one of the types and the words (Xu et al. 2026, appendix A.1).

    Raises BackendError for an answer without an entry that doesn't say that there is none.
    """
    entries: list[Mention] = []
    entry = re.compile(rf"[-*•\s]*({'|'.join(map(re.escape, kinds))})\s*[:|\t–-]\s*(\S.*?)\s*", re.IGNORECASE)
    lines = [line for line in text.rpartition(THOUGHT)[2].splitlines() if line.strip()]
    for line in lines:
        found = entry.fullmatch(line)
        if found:
            entries.append(Mention(text=found[2], type=found[1]))
    nothing = sum(NOTHING in line.upper() for line in lines)
    if not entries and not nothing:
        raise BackendError("The model's answer has none of the requested lines.", permanent=False)
    return ListedEntries(entries, len(lines) - len(entries) - nothing)


def _next(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at


# Find the locations of a model's mentions in a text. Offsets are code points.
#
# The words around a mention tell its location, so that "76" in "76 years old" is not found in "76 mg" (Singh et al.
# 2025, section A.4).


Bounds = tuple[int, int]
# Limits of a mention. Longer ones are parts of the note, not entities.
MOST_WORDS: Final = 30
MOST_CHARACTERS: Final = 300
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True)
class LocatedMentions:
    """`found`: the locations of the mentions. `doubtful`: all locations of mentions whose context doesn't decide, or
    contradicts the text.

    `ambiguous` counts the mentions of `doubtful`. The other fields count mentions that were left out: `hallucinated`,
    not in the text; `too_long`, too long for an entity.
    """

    found: list[FoundSpan]
    doubtful: list[FoundSpan]
    hallucinated: int
    ambiguous: int
    too_long: int


def locate(text: str, mentions: Sequence[Mention]) -> LocatedMentions:
    """The locations of the mentions, sorted, without duplicates."""
    found: set[FoundSpan] = set()
    undecided: Counter[tuple[str, str]] = Counter()
    contradicted: set[tuple[str, str]] = set()
    hallucinated = too_long = 0
    there: dict[str, list[Bounds]] = {}
    for (words, kind, context), times in Counter((one.text, one.type, one.context) for one in mentions).items():
        if is_too_long(words):
            too_long += times
            continue
        if words not in there:
            there[words] = _occurrences(text, words)
        locations = there[words]
        if not locations:
            hallucinated += times
            continue
        fits = any(_fits(text, words, context, *one) for one in locations)
        hits = [] if not fits else locations if len(locations) == 1 else _by_context(text, words, context, locations)
        found.update(FoundSpan(start, end, kind) for start, end in hits)
        if not hits:
            undecided[words, kind] += times
        if not fits:
            contradicted.add((words, kind))
    ambiguous = 0
    doubtful: set[FoundSpan] = set()
    for (words, kind), times in undecided.items():
        left = [one for one in there[words] if FoundSpan(*one, kind) not in found]
        if times >= len(left) and (words, kind) not in contradicted:  # there is a mention for each location
            found.update(FoundSpan(start, end, kind) for start, end in left)
        else:
            doubtful.update(FoundSpan(start, end, kind, len(left)) for start, end in left)
            ambiguous += times
    return LocatedMentions(sorted(found), sorted(doubtful), hallucinated, ambiguous, too_long)


def is_too_long(words: str) -> bool:
    return len(words) > MOST_CHARACTERS or len(words.split()) > MOST_WORDS


def _fits(text: str, words: str, context: str, start: int, end: int) -> bool:
    """Whether at least half of the other words of the context stand around the location."""
    given = Counter(_WORD.findall(context.casefold())) - Counter(_WORD.findall(words.casefold()))
    around = text[max(0, start - len(context)) : end + len(context)]
    return 2 * (given & Counter(_WORD.findall(around.casefold()))).total() >= given.total()


def _by_context(text: str, words: str, context: str, locations: list[Bounds]) -> list[Bounds]:
    """The locations that the context selects. A context that occurs several times selects one location each time."""
    if len(context.split()) > len(words.split()):
        inside = [_within(locations, *around) for around in _occurrences(text, context)]
        if inside and all(len(hits) == 1 for hits in inside):
            return sorted({hits[0] for hits in inside})
    return _by_neighbors(text, words, context, locations)


def _within(locations: list[Bounds], start: int, end: int) -> list[Bounds]:
    first = bisect_left(locations, (start, start))
    return [one for one in locations[first : bisect_left(locations, (end, end))] if one[1] <= end]


def _by_neighbors(text: str, words: str, context: str, locations: list[Bounds]) -> list[Bounds]:
    """The one location with the most matching words on either side, for a context that doesn't match exactly."""
    parts = context.split(words)
    if len(parts) != 2:
        return []
    before, after = parts[0].split()[::-1], parts[1].split()
    scores = [
        _shared(before, text[max(0, start - 200) : start].split()[::-1]) + _shared(after, text[end : end + 200].split())
        for start, end in locations
    ]
    best = max(scores)
    return [locations[scores.index(best)]] if best and scores.count(best) == 1 else []


def _shared(words: list[str], there: list[str]) -> int:
    """The number of equal words at the start of both lists."""
    count = 0
    for one, other in zip(words, there, strict=False):
        if one.strip(".,;:()") != other.strip(".,;:()"):
            break
        count += 1
    return count


def _occurrences(text: str, words: str) -> list[Bounds]:
    """The locations of the words, with any white space between them: exact case first, whole tokens preferred."""
    parts = [re.escape(part) for part in words.split()]
    if not parts:
        return []
    for flags in (re.NOFLAG, re.IGNORECASE):
        locations = [match.span() for match in re.finditer(r"\s+".join(parts), text, flags)]
        if locations:
            return [one for one in locations if not any(_joined(text, at) for at in one)] or locations
    return []


def _joined(text: str, at: int) -> bool:
    """Whether the characters on both sides belong to one token."""
    around = text[max(0, at - 1) : at + 1]
    return len(around) == 2 and WHITE_SPACE.isdisjoint(around) and len(tokenize(around)) == 1
