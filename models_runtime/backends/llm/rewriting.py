"""Align a rewritten note with the original, to find what its placeholders stand for (Miranda et al. 2025, section 3.2).

Both texts are compared as tokens, so white space may differ. Between placeholders, all tokens must be equal. A
placeholder stands for at least one token, and at most MOST_WORDS words and one line break.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from annotations.domain.spans import Span
from annotations.domain.tokens import tokenize
from models_runtime.backends.base import BackendError
from models_runtime.backends.llm.locating import is_too_long

# Tokens that a placeholder can stand for in the search. Longer ones would be rejected by is_too_long.
_REACH: Final = 120
# Limit of steps in the search, since adjacent placeholders multiply the possibilities.
_MOST_LOOKS: Final = 100_000


@dataclass(frozen=True)
class Recovered:
    """The spans in the note. `ambiguous`: number of placeholders with more than one possible span."""

    spans: list[Span]
    ambiguous: int


class Changed(BackendError):
    """The model changed more than allowed. The message gives counts and quotes no text."""

    def __init__(self, added: int, left_out: int) -> None:
        what = f"{left_out} words or signs are missing and {added} are new"
        if not (added or left_out):
            what = "a placeholder replaces too much text"
        super().__init__(f"The rewritten note differs from the note: {what}. It was rejected.", permanent=False)


def recover(text: str, rewritten: str, placeholders: Mapping[str, str]) -> Recovered:
    """The spans that the placeholders stand for. `placeholders`: casefolded placeholder to label. Raises Changed."""
    tokens = tokenize(text)
    words = [text[token.start : token.end] for token in tokens]
    parts = _parts(rewritten, placeholders)

    def stands(first: int, past: int) -> bool:
        hidden = text[tokens[first].start : tokens[past - 1].end]
        return not is_too_long(hidden) and len(hidden.splitlines()) <= 2

    holes = _Match(words, parts.literals, stands).holes()
    if holes is None:
        raise _changed(words, parts)
    spans = []
    for (first, past), label in zip(holes, parts.labels, strict=True):
        start, end = tokens[first].start, tokens[past - 1].end
        # A placeholder that is part of the original note is no span.
        if placeholders.get(text[start:end].casefold()) is None:
            spans.append(Span(start, end, label))
    return Recovered(spans, _ambiguous(words, parts, stands, holes))


@dataclass(frozen=True)
class _Parts:
    """A rewritten note: lists of tokens (perhaps empty), with the label of a placeholder between two lists."""

    literals: list[list[str]]
    labels: list[str]


def _parts(rewritten: str, placeholders: Mapping[str, str]) -> _Parts:
    """Split a rewritten note. Placeholders of the same label with only white space between them count as one."""
    known = "|".join(re.escape(word) for word in sorted(placeholders, key=len, reverse=True))
    pieces = re.split(f"({known})", rewritten, flags=re.IGNORECASE) if known else [rewritten]
    literals = [[piece[token.start : token.end] for token in tokenize(piece)] for piece in pieces[::2]]
    parts = _Parts(literals[:1], [])
    for tag, literal in zip(pieces[1::2], literals[1:], strict=True):
        label = placeholders[tag.casefold()]
        if parts.labels[-1:] == [label] and not parts.literals[-1]:
            parts.literals[-1] = literal
        else:
            parts.labels.append(label)
            parts.literals.append(literal)
    return parts


Stands = Callable[[int, int], bool]
"""Whether a placeholder may stand for the tokens from the first to the second index (exclusive)."""


class _Match:
    """Finds the tokens of each hole between the literals: backtracking search, shortest holes first."""

    def __init__(self, words: list[str], literals: list[list[str]], stands: Stands) -> None:
        self._words, self._literals, self._stands = words, literals, stands
        self._looks = 0

    def holes(self) -> list[tuple[int, int]] | None:
        """First and past-the-last token of each hole; None if the texts can't be aligned."""
        begin = len(self._literals[0])
        if self._words[:begin] != self._literals[0]:
            return None
        if len(self._literals) == 1:
            return [] if begin == len(self._words) else None
        dead: set[tuple[int, int]] = set()
        chosen: list[tuple[int, int]] = []
        open_holes = [(begin, self._ends(begin, 1))]
        while open_holes:
            first, ends = open_holes[-1]
            past = next(ends, None)
            if past is None:
                dead.add((len(open_holes), first))
                open_holes.pop()
                if chosen:
                    chosen.pop()
                continue
            if len(open_holes) == len(self._literals) - 1:
                return [*chosen, (first, past)]
            following = past + len(self._literals[len(open_holes)])
            if (len(open_holes) + 1, following) not in dead:
                chosen.append((first, past))
                open_holes.append((following, self._ends(following, len(open_holes) + 1)))
        return None

    def _ends(self, first: int, at: int) -> Iterator[int]:
        """Possible ends of a hole that begins at this token, so that literal number `at` follows."""
        literal = self._literals[at]
        latest = len(self._words) - len(literal)
        pasts = range(first + 1, min(first + _REACH, latest) + 1)
        if at == len(self._literals) - 1:
            pasts = range(max(latest, first + 1), latest + 1)
        for past in pasts:
            self._looks += 1
            if self._looks > _MOST_LOOKS:
                return
            fits = not literal or self._words[past] == literal[0]
            if fits and self._words[past : past + len(literal)] == literal and self._stands(first, past):
                yield past


def _ambiguous(words: list[str], parts: _Parts, stands: Stands, holes: list[tuple[int, int]]) -> int:
    """The number of holes that differ when the texts are aligned from the end."""
    total = len(words)
    backwards = _Match(
        words[::-1],
        [literal[::-1] for literal in parts.literals[::-1]],
        lambda first, past: stands(total - past, total - first),
    ).holes()
    others = [(total - past, total - first) for first, past in (backwards or [])[::-1]]
    return sum(one != other for one, other in zip(holes, others, strict=False))


def _changed(words: list[str], parts: _Parts) -> Changed:
    """Count the changes besides placeholders. Missing words next to a placeholder count as replaced by it."""
    theirs = list(parts.literals[0])
    for literal in parts.literals[1:]:
        theirs += ["\0", *literal]
    added = left_out = 0
    for kind, a, b, c, d in SequenceMatcher(None, words, theirs).get_opcodes():
        if kind == "equal":
            continue
        hidden = "\0" in theirs[c:d]
        added += sum(word != "\0" for word in theirs[c:d])
        left_out += 0 if hidden and b - a <= _REACH else b - a
    return Changed(added, left_out)
