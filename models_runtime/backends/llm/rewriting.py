"""A note that came back rewritten: what its placeholders stand for, provided that nothing else was changed (000, 3.2).

Both texts are read as tokens, so white space may differ: it moves no offset of the note. Between placeholders every
token must be the note's own. A placeholder stands for at least one token, at most MOST_WORDS words and one line break.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from annotations.domain.spans import Span
from annotations.domain.tokens import tokenize
from models_runtime.backends.base import BackendError
from models_runtime.backends.llm.placing import is_too_long

# Tokens: a wider search would only find what is_too_long refuses.
_REACH: Final = 120
# So many places are looked at before an answer counts as nonsense (placeholders side by side multiply them).
_MOST_LOOKS: Final = 100_000


@dataclass(frozen=True)
class Recovered:
    """`spans` in code points of the note; `ambiguous`: placeholders whose ends could be read in more than one way."""

    spans: list[Span]
    ambiguous: int


class Changed(BackendError):
    """The model changed more than it may. The message counts; it quotes nothing."""

    def __init__(self, added: int, left_out: int) -> None:
        what = f"{left_out} words or signs of it are missing and {added} are new, besides the placeholders"
        if not (added or left_out):
            what = "a placeholder stands for more than one thing can be"
        super().__init__(f"the rewritten note isn't the note: {what}; it was refused", permanent=False)


def recover(text: str, rewritten: str, placeholders: Mapping[str, str]) -> Recovered:
    """The spans that the placeholders (in casefolded form, to label) stand for. Raises Changed."""
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
        # A placeholder that stood in the note already hides nothing.
        if placeholders.get(text[start:end].casefold()) is None:
            spans.append(Span(start, end, label))
    return Recovered(spans, _ambiguous(words, parts, stands, holes))


@dataclass(frozen=True)
class _Parts:
    """The rewritten note: tokens (maybe none), a placeholder's label, tokens, a label, and so on to the last tokens."""

    literals: list[list[str]]
    labels: list[str]


def _parts(rewritten: str, placeholders: Mapping[str, str]) -> _Parts:
    """Placeholders of one label with nothing but white space between them are one."""
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
"""Whether a placeholder may stand for the tokens from the first to before the last number."""


class _Match:
    """Finds the tokens that each hole between the literals stands for: the shortest first, back where that fails."""

    def __init__(self, words: list[str], literals: list[list[str]], stands: Stands) -> None:
        self._words, self._literals, self._stands = words, literals, stands
        self._looks = 0

    def holes(self) -> list[tuple[int, int]] | None:
        """First and past-the-last token of each hole; None where the words can't be read so."""
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
        """Where a hole that begins at this token can end, so that literal number `at` follows."""
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
    """How many holes come out otherwise when the note is read from its end."""
    total = len(words)
    backwards = _Match(
        words[::-1],
        [literal[::-1] for literal in parts.literals[::-1]],
        lambda first, past: stands(total - past, total - first),
    ).holes()
    others = [(total - past, total - first) for first, past in (backwards or [])[::-1]]
    return sum(one != other for one, other in zip(holes, others, strict=False))


def _changed(words: list[str], parts: _Parts) -> Changed:
    """Counts what differs besides the placeholders: a stretch where one stands in is taken to be what it hides."""
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
