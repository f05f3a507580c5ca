"""Write a note as WebAnno TSV, in the way in which INCEpTION divides spans into tokens and parts of tokens."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from operator import attrgetter
from typing import Final

from annotations.formats.tags import words_of
from annotations.formats.uima import (
    Entity,
    Layer,
    feature_types,
    offsets_of,
    whole_sentences,
)
from annotations.formats.webanno_tsv.escapes import escape_text, escape_value
from annotations.formats.webanno_tsv.reading import BEFORE, EMPTY, FORMAT, NO_VALUE, TEXT
from annotations.text.spans import Bounds
from annotations.text.tokens import Token

_start, _end = attrgetter("start"), attrgetter("end")
_SPACES: Final = " "


class TsvWriter:
    """The rows of one note. `untouched` are entities that have no token at one of their ends."""

    def __init__(self, text: str, tokens: Sequence[Token], entities: Sequence[Entity], layer: Layer) -> None:
        self._text = text
        self._layer = layer
        self._tokens = tokens
        # The entities, by their index, on whole tokens and on parts of tokens, by the index of the token.
        self._on: dict[int, list[int]] = {}
        self._parts: dict[int, dict[Bounds, list[int]]] = {}
        self._entities: list[Entity] = []
        self._many: set[int] = set()
        self.untouched: list[Entity] = []
        for entity in entities:
            self._divide(entity)

    def content(self) -> str:
        """The file. Each sentence begins with its first token and ends before the line break before the next one."""
        features = [self._layer.label, *feature_types(self._entities)]
        ids = self._ids()
        nothing = f"\t{EMPTY}" * len(features) + "\t"
        rows = [f"{FORMAT}3", f"#T_SP={self._layer.type}|{'|'.join(features)}", ""]
        units = offsets_of(self._text)
        edges = self._tokens if units is int else [(units(start), units(stop)) for start, stop in self._tokens]
        words = words_of(self._text, self._tokens)
        begins = [
            bisect_left(self._tokens, start, key=_start) for start, _ in whole_sentences(self._text, self._entities)
        ]
        starts = sorted({0, *begins, len(self._tokens)})
        first = self._tokens[0].start if self._tokens else len(self._text)
        before = BEFORE + escape_text(self._text[:first])
        if not self._tokens:
            return "\n".join([*rows, "", before, ""])
        for number, (at, past) in enumerate(pairwise(starts), 1):
            rows.append("")
            if number == 1:
                rows.append(before)
            end = self._tokens[past].start if past < len(self._tokens) else len(self._text)
            rows += [TEXT + escape_text(line) for line in self._sentence(at, end).split("\n")]
            for place, index in enumerate(range(at, past), 1):
                start, stop = edges[index]
                cells = self._cells(self._on[index], features, ids) if index in self._on else nothing
                rows.append(f"{number}-{place}\t{start}-{stop}\t{words[index]}{cells}")
                if index in self._parts:
                    parts = sorted(self._parts[index].items(), key=lambda part: (part[0][0], -part[0][1]))
                    rows += [
                        f"{number}-{place}.{each}\t{units(start)}-{units(stop)}\t{self._text[start:stop]}"
                        f"{self._cells(on, features, ids)}"
                        for each, ((start, stop), on) in enumerate(parts, 1)
                    ]
        return "\n".join([*rows, ""])

    def _sentence(self, at: int, end: int) -> str:
        """The text of a sentence up to the next one, without a last line break and indent, which readers put there."""
        text = self._text[self._tokens[at].start : end]
        bare = text.rstrip(_SPACES)
        return bare[:-1] if end < len(self._text) and bare.endswith("\n") else text

    def _divide(self, entity: Entity) -> None:
        """Put an entity on the tokens and the parts of tokens that it covers."""
        first = bisect_right(self._tokens, entity.start, key=_start) - 1
        last = bisect_left(self._tokens, entity.end, key=_end)
        covered = 0 <= first <= last < len(self._tokens)
        if not covered or self._tokens[first].end <= entity.start or entity.end <= self._tokens[last].start:
            self.untouched.append(entity)
            return
        index = len(self._entities)
        self._entities.append(entity)
        if first < last:
            self._many.add(index)
        for at in range(first, last + 1):
            token = self._tokens[at]
            start, end = max(token.start, entity.start), min(token.end, entity.end)
            if (start, end) == (token.start, token.end):
                self._on.setdefault(at, []).append(index)
            else:
                self._parts.setdefault(at, {}).setdefault((start, end), []).append(index)

    def _ids(self) -> dict[int, int]:
        """The disambiguation ids of entities on several rows, and of those that share a row."""
        needed = set(self._many)
        parts = (on for at in self._parts.values() for on in at.values())
        for on in chain(self._on.values(), parts):
            if len(on) > 1:
                needed.update(on)
        return {index: number for number, index in enumerate(sorted(needed), 1)}

    def _cells(self, on: Sequence[int], features: Sequence[str], ids: Mapping[int, int]) -> str:
        """The cells of a row, with the tabs around them. Entities on it are separated by `|`."""
        cells = ["|".join([self._value(index, name, ids) for index in on]) for name in features]
        return "\t" + "\t".join(cells) + "\t"

    def _value(self, index: int, feature: str, ids: Mapping[int, int]) -> str:
        entity = self._entities[index]
        value = entity.code if feature == self._layer.label else entity.features.get(feature)
        written = NO_VALUE if value is None else escape_value(value)
        return f"{written}[{ids[index]}]" if index in ids else written
