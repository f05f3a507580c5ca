"""Align a rewritten note with the original, to find where its placeholders stand (Miranda et al. 2025, section 3.2).

Both texts are compared as words without regard to white space and typography: models write "54" for «54», and E' for È.
Between placeholders, all words must be equal. Adjacent placeholders share one gap, because no word tells where one ends
and the next begins. A gap has at least one token, at most MOST_WORDS words and one line break; if it has more lines,
and placeholders for each of them, it is divided at the line breaks. What the placeholders of a gap stand for is decided
in models_runtime.backends.llm.bounding.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from rapidfuzz.distance import LCSseq

from annotations.text.spans import Token, tokenize
from annotations.text.wording import gettext as _
from annotations.text.wording import gettext_noop
from models_runtime.backends.base import BackendError
from models_runtime.backends.llm.answers import is_too_long

# Tokens that a gap can have in the search. Longer ones would be rejected by is_too_long.
_REACH: Final = 120
# Limit of steps in the search, since repeated words multiply the possibilities.
_MOST_LOOKS: Final = 100_000
# A placeholder, whether the prompt named it or not: a tag in square brackets that has a letter.
_PLACEHOLDER: Final = re.compile(r"\[(?=[^\[\]\n]*[^\W\d_])[^\[\]\n]{1,60}\]")
# An answer that keeps less of the note's tokens is not a rewritten note but, for example, a refusal.
_LEAST_KEPT: Final = 0.5
# Signs that are often written in another way; signs without width are left out.
_SIGNS: Final = str.maketrans(
    dict.fromkeys('«»“”„‟‹›‘’‚‛`´′″"', "'")
    | dict.fromkeys("‐‑‒–—―−", "-")
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff")
    | {"º": "°", "×": "x", "≤": "<=", "≥": ">="}
)
_CHARACTER: Final = re.compile(r".[\u0300-\u036f]{0,4}", re.DOTALL)
_ACCENTED: Final = re.compile(r"([aeiouAEIOU])[\u0300\u0301]")


@dataclass(frozen=True, slots=True)
class Gap:
    """Tokens of the note that the rewritten note lacks, from `first` to `past` (exclusive), and what stands there.

    `others` are the tokens of the gap if the texts are aligned from the end; equal to (first, past) if only one
    alignment is possible.
    """

    first: int
    past: int
    placeholders: tuple[str, ...]
    others: tuple[int, int]


class TextChanged(BackendError):
    """The model changed more than allowed. The message gives counts and quotes no text.

    `rewritten` is the model's text; empty if too little of the note is left in it for a rewritten note.
    """

    def __init__(self, added: int, left_out: int, rewritten: str) -> None:
        what = _("{left_out} words or signs are missing and {added} are new", left_out, added)
        if not (added or left_out):
            what = _("a placeholder replaces too much text")
        super().__init__(
            gettext_noop("The rewritten note differs from the note: {what}. It was rejected."), what, permanent=False
        )
        self.rewritten = rewritten


def align(text: str, tokens: list[Token], rewritten: str) -> list[Gap]:
    """The gaps of the rewritten note, in order. Raises Changed."""
    words, bounds = _words(text)
    starts = [token.start for token in tokens]
    own = [(bisect_right(starts, start) - 1, bisect_right(starts, end - 1)) for start, end in bounds]
    parts = _parts(rewritten)

    def lines(groups: _Groups, first: int, past: int) -> list[tuple[tuple[str, ...], tuple[int, int]]]:
        """The tokens of a gap with their placeholders, by line if there are many lines; empty if it can't be a gap."""
        if (first and own[first - 1][1] > own[first][0]) or (past < len(own) and own[past - 1][1] > own[past][0]):
            return []  # A part of a token.
        begin, end = own[first][0], own[past - 1][1]
        hidden = text[starts[begin] : tokens[end - 1].end]
        placeholders = tuple(each for group in groups for each in group)
        if len(hidden.splitlines()) <= 2:
            return [] if is_too_long(hidden) else [(placeholders, (begin, end))]
        breaks = [at for at in range(begin + 1, end) if _has_break(text[tokens[at - 1].end : starts[at]])]
        divided = list(pairwise([begin, *breaks, end]))
        if len(divided) != len(groups):
            groups = [(each,) for each in placeholders]
        if len(divided) != len(groups) or any(is_too_long(text[starts[a] : tokens[b - 1].end]) for a, b in divided):
            return []
        return list(zip(groups, divided, strict=True))

    found = _Match(words, parts.literals, lambda at, *gap: bool(lines(parts.placeholders[at], *gap))).gaps()
    if found is None:
        raise _changed(words, parts, rewritten)
    total = len(words)
    backwards = _Match(
        words[::-1],
        [literal[::-1] for literal in parts.literals[::-1]],
        lambda at, first, past: bool(lines(parts.placeholders[-1 - at], total - past, total - first)),
    ).gaps()
    others = [(total - past, total - first) for first, past in (backwards or [])[::-1]] or found
    return [
        Gap(*tokens_of, placeholders, tokens_of if gap == other else (own[other[0]][0], own[other[1] - 1][1]))
        for gap, groups, other in zip(found, parts.placeholders, others, strict=True)
        for placeholders, tokens_of in lines(groups, *gap)
    ]


def _has_break(space: str) -> bool:
    return len(f"{space}|".splitlines()) > 1


_Groups = list[tuple[str, ...]]
"""Adjacent placeholders, by line."""


@dataclass(frozen=True)
class _Parts:
    """A rewritten note: lists of tokens (perhaps empty), with the placeholders that stand between two lists."""

    literals: list[list[str]]
    placeholders: list[_Groups]


def _parts(rewritten: str) -> _Parts:
    """Split a rewritten note at its placeholders."""
    parts = _Parts([[]], [])
    done = 0
    for tag in _PLACEHOLDER.finditer(rewritten):
        between = rewritten[done : tag.start()]
        parts.literals[-1] += _words(between)[0]
        if not parts.placeholders or parts.literals[-1]:
            parts.placeholders.append([(tag[0],)])
            parts.literals.append([])
        elif _has_break(between):
            parts.placeholders[-1].append((tag[0],))
        else:
            parts.placeholders[-1][-1] += (tag[0],)
        done = tag.end()
    parts.literals[-1] += _words(rewritten[done:])[0]
    return parts


def _words(text: str) -> tuple[list[str], list[tuple[int, int]]]:
    """The words and signs of a text without regard to typography, with their bounds in the text."""
    plain: list[str] = []
    at: list[tuple[int, int]] = []
    for found in _CHARACTER.finditer(text):
        form = unicodedata.normalize("NFKC", found[0].translate(_SIGNS))
        if not form.isascii() and not text[found.end() : found.end() + 1].isalpha():
            # At the end of a word, an apostrophe is often written for an accent.
            form = _ACCENTED.sub(r"\1'", unicodedata.normalize("NFD", form))
        plain.append(form)
        at += [found.span()] * len(form)
    joined = "".join(plain)
    words = tokenize(joined)
    return [joined[slice(*word)] for word in words], [(at[start][0], at[end - 1][1]) for start, end in words]


Stands = Callable[[int, int, int], bool]
"""Whether a gap, given by its number, may have the words from the first to the second index (exclusive)."""


class _Match:
    """Finds the words of each gap between the literals: backtracking search, shortest gaps first."""

    def __init__(self, words: list[str], literals: list[list[str]], stands: Stands) -> None:
        self._words, self._literals, self._stands = words, literals, stands
        self._looks = 0

    def gaps(self) -> list[tuple[int, int]] | None:
        """First and past-the-last word of each gap; None if the texts can't be aligned."""
        begin = len(self._literals[0])
        if self._words[:begin] != self._literals[0]:
            return None
        if len(self._literals) == 1:
            return [] if begin == len(self._words) else None
        dead: set[tuple[int, int]] = set()
        chosen: list[tuple[int, int]] = []
        open_gaps = [(begin, self._ends(begin, 1))]
        while open_gaps:
            first, ends = open_gaps[-1]
            past = next(ends, None)
            if past is None:
                dead.add((len(open_gaps), first))
                open_gaps.pop()
                if chosen:
                    chosen.pop()
                continue
            if len(open_gaps) == len(self._literals) - 1:
                return [*chosen, (first, past)]
            following = past + len(self._literals[len(open_gaps)])
            if (len(open_gaps) + 1, following) not in dead:
                chosen.append((first, past))
                open_gaps.append((following, self._ends(following, len(open_gaps) + 1)))
        return None

    def _ends(self, first: int, at: int) -> Iterator[int]:
        """Possible ends of a gap that begins at this word, so that literal number `at` follows."""
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
            if fits and self._words[past : past + len(literal)] == literal and self._stands(at - 1, first, past):
                yield past


def _changed(words: list[str], parts: _Parts, rewritten: str) -> TextChanged:
    """Count the changes besides placeholders. Missing words next to a placeholder count as replaced by it."""
    theirs = list(parts.literals[0])
    for literal in parts.literals[1:]:
        theirs += ["\0", *literal]
    a = c = kept = added = left_out = 0
    for block in LCSseq.opcodes(words, theirs).as_matching_blocks():
        hidden = "\0" in theirs[c : block.b]
        added += sum(word != "\0" for word in theirs[c : block.b])
        left_out += 0 if hidden and block.a - a <= _REACH else block.a - a
        a, c, kept = block.a + block.size, block.b + block.size, kept + block.size
    return TextChanged(added, left_out, rewritten if kept >= _LEAST_KEPT * len(words) else "")
