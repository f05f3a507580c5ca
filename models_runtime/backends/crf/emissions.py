"""Emission scores of tokens: for each tag, the sum of the weights of a token's features.

crfsuite looks up every feature of every token by its name. Here the weights of all features that depend on the same key
(a form, a window of shapes, a header field with its distance, …) are summed once, and the scores of a note are added up
from these sums. Keys are numbers, so that those of all tokens are made together.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from models_runtime.backends.crf.features import (
    ADJACENT,
    AROUND,
    NORM_PAIRS,
    NORMS_SEEN,
    NOTHING,
    NOWHERE,
    PAIRS_SEEN,
    Lexicon,
    Spelling,
    lines_of,
)
from models_runtime.backends.crf.sums import Names, Numbers, Sums, joined, parts
from models_runtime.backends.crf.weights import Floats, Weights
from models_runtime.backends.notes.arrays import touching
from models_runtime.backends.notes.note import FURTHEST, Note, word

_SHIFTS: Final = range(-AROUND, AROUND + 1)
# Two tokens before and behind are the most that a window of shapes looks at.
_REACH: Final = 2


class Emissions:
    """Computes the emission scores of one model. `lexicon`: the header fields of each word.

    `staged`: with the features from the spans of an earlier model.
    """

    def __init__(self, lexicon: Lexicon, weights: Weights, *, staged: bool = False) -> None:
        self._lexicon, self._weights, self._staged = lexicon, weights, staged
        self._seen = _norms(weights.features, NORMS_SEEN)
        self._paired = _norms(weights.features, PAIRS_SEEN)
        self._clear()

    def _clear(self) -> None:
        spelling = Spelling()
        self._shapes, self._shorts, self._short_pairs, self._fields, self._starts = (Names() for _ in range(5))
        # A norm without features in the model has the number 0.
        self._norms, self._pairs, self._listed = Names(None), Names(None), Names()
        self._forget()

        def sums(spell: Callable[..., Sequence[Sequence[str]]], shifts: Sequence[int] = (0,)) -> Sums:
            return Sums(self._weights, shifts, spell)

        def pair(key: int) -> Sequence[Sequence[str]]:
            return spelling.norm_pair(*(self._pairs.names[at] for at in parts(key, 2)))

        def around(key: int) -> Sequence[Sequence[str]]:
            norm, shape, fields = parts(key, 3)
            return spelling.around(self._norms.names[norm], self._shapes.names[shape], self._listed.names[fields])

        def shapes(key: int) -> Sequence[Sequence[str]]:
            return spelling.shapes([self._shapes.names[at] for at in parts(key, 3)])

        def shorts(key: int) -> Sequence[Sequence[str]]:
            one, two, last = parts(key, 3)
            pairs = self._short_pairs.names
            five = [*parts(pairs[one], 2), *parts(pairs[two], 2), last]
            return spelling.shorts([self._shorts.names[at] for at in five])

        def field(key: int) -> Sequence[Sequence[str]]:
            name, since, short = parts(key, 3)
            return spelling.field(self._fields.names[name], since, self._shorts.names[short])

        def into(key: int) -> Sequence[Sequence[str]]:
            start, at, short = parts(key, 3)
            return spelling.into(at, self._starts.names[start], self._shorts.names[short])

        self._sums = {
            "own": sums(lambda form: spelling.own(word(form) if form else None)),
            "around": sums(around, _SHIFTS),
            "memory": sums(spelling.memory, ADJACENT),
            "rule": sums(spelling.rule, ADJACENT),
            "pair": sums(pair, NORM_PAIRS),
            "shapes": sums(shapes),
            "shorts": sums(shorts),
            "field": sums(field),
            "into": sums(into),
            "line": sums(lambda key: spelling.line(*key)),
            "edges": sums(spelling.edges),
            "earlier": sums(spelling.earlier, ADJACENT),
            "tenth": sums(lambda key: spelling.tenth(*key)),
        }

    def _forget(self) -> None:
        self._forms = Names()
        # For each form, the rows of its sums, and the numbers of its norm among those of pairs, shape and short shape.
        self._of_form = np.zeros((1 << 10, 5), np.intp)

    def _make_room(self) -> None:
        """Clear full tables, and all tables if one of those is full whose numbers are in the keys of others."""
        names = (self._shapes, self._shorts, self._short_pairs, self._fields, self._starts, self._norms, self._pairs)
        if any(table.is_full for table in (*names, self._listed)):
            self._clear()
        if self._sums["own"].is_full or self._sums["around"].is_full or self._forms.is_full:
            self._forget()
        for table in self._sums.values():
            if table.is_full:
                table.clear()

    def of(self, note: Note, rule_tags: Sequence[str], earlier: Any, first: int, past: int) -> Floats:
        """Scores [tokens, tags] of the tokens `first` to `past` of a note.

        `rule_tags`: the tag of the rules at each token. `earlier`: `earlier_tags` of the earlier model's spans.
        """
        self._make_room()
        scores, spare = np.zeros((2, past - first, len(self._weights.tags)))

        def add(name: str, rows: Numbers) -> None:
            self._sums[name].add(rows, scores, spare)

        own, around, norms, shapes, shorts = self._numbered(_around(note.forms, first, past, NOWHERE)).T
        add("own", own[AROUND:-AROUND])
        add("around", around)
        self._add_memory(note, first, past, scores)
        add("rule", self._sums["rule"].rows(_around(rule_tags, first, past, NOTHING, 1)))
        self._add_pairs(norms, scores)
        reach = slice(AROUND - _REACH, len(own) - AROUND + _REACH)
        shapes, shorts = shapes[reach], shorts[reach]
        add("shapes", self._rows("shapes", joined(shapes[1:-3], shapes[2:-2], shapes[3:-1])))
        pairs = self._short_pairs.of(joined(shorts[:-1], shorts[1:]).tolist())
        add("shorts", self._rows("shorts", joined(pairs[:-3], pairs[2:-1], shorts[4:])))
        for name, rows in self._positional(note, shorts[_REACH:-_REACH], first, past):
            add(name, rows)
        if self._staged:
            add("earlier", self._sums["earlier"].rows(_around([tag for tag, _ in earlier], first, past, NOTHING, 1)))
            add("tenth", self._sums["tenth"].rows(earlier[first:past]))
        return scores

    def _rows(self, name: str, keys: Numbers) -> Numbers:
        return self._sums[name].rows(keys.tolist())

    def _numbered(self, forms: Sequence[str]) -> Numbers:
        """What `_of_form` has for each form [forms, 5]."""
        known = len(self._forms)
        numbers = self._forms.of(forms)
        for number, form in enumerate(self._forms.names[known:], start=known):
            if number == len(self._of_form):
                self._of_form = np.concatenate([self._of_form, np.zeros_like(self._of_form)])
            each = word(form)
            norm, shape, short = (each.norm, each.shape, each.short) if form else (NOTHING, NOTHING, NOTHING)
            seen = self._norms[norm] if norm in self._seen else 0
            shape_number = self._shapes[shape]
            around = joined(seen, shape_number, self._listed[tuple(self._lexicon.get(each.lower, ()))])
            self._of_form[number] = (
                self._sums["own"][form], self._sums["around"][around],
                self._pairs[norm] if norm in self._paired else 0, shape_number, self._shorts[short],
            )  # fmt: skip
        return self._of_form[numbers]

    def _add_memory(self, note: Note, first: int, past: int, scores: Floats) -> None:
        sums, memory = self._sums["memory"], note.memory
        rows = {lower: row for lower, fields in memory.items() if (row := sums[fields])}
        if rows:
            found = [rows.get(each.lower, 0) for each in _around(note.words, first, past, word(NOWHERE), 1)]
            sums.add_few(np.array(found, np.intp), scores)

    def _add_pairs(self, norms: Numbers, scores: Floats) -> None:
        """`norms` begin AROUND tokens before the first one, and end AROUND tokens behind the last one."""
        reach = norms[AROUND + NORM_PAIRS[0] : len(norms) - AROUND + NORM_PAIRS[-1] + 1]
        keys = joined(reach[:-1], reach[1:])
        both = np.flatnonzero((reach[:-1] > 0) & (reach[1:] > 0))
        rows = np.zeros(len(keys), np.intp)
        rows[both] = self._rows("pair", keys[both])
        self._sums["pair"].add_few(rows, scores)

    def _positional(self, note: Note, shorts: Numbers, first: int, past: int) -> Iterable[tuple[str, Numbers]]:
        """The rows of keys from a token's position: its header field, its line, whether it touches its neighbors."""
        here = slice(first, past)
        lines = lines_of(note)
        lengths = [each.past - each.first for each in note.stretches]
        fields = np.repeat(self._fields.of([each.field for each in note.stretches]), lengths)[here]
        colons = np.repeat(np.array([each.since for each in note.stretches], np.intp), lengths)[here]
        at = np.arange(first, past)
        yield "field", self._rows("field", joined(fields, np.minimum(at - colons, FURTHEST), shorts))
        lengths = [end - begin for begin, end in note.edges]
        starts = np.repeat(self._starts.of([start for start, _ in lines]), lengths)[here]
        begins = np.repeat(np.array([begin for begin, _ in note.edges], np.intp), lengths)[here]
        yield "into", self._rows("into", joined(starts, np.minimum(at - begins, FURTHEST), shorts))
        yield "line", np.repeat(self._sums["line"].rows([key for _, key in lines]), lengths)[here]
        edges = np.zeros(len(note.tokens), np.intp)
        glued = touching(note.tokens)
        edges += 8 * glued[:-1] + 4 * glued[1:]
        edges[[begin for begin, _ in note.edges]] += 2
        edges[[end - 1 for _, end in note.edges]] += 1
        yield "edges", self._rows("edges", edges[here])


def _around(values: Sequence[Any], first: int, past: int, nothing: Any, reach: int = AROUND) -> list[Any]:
    """The values from `first` to `past` with `reach` more at each end; `nothing` where there are no tokens."""
    low, high = first - reach, past + reach
    return [
        *[nothing] * max(0, -low), *values[max(0, low) : high], *[nothing] * max(0, high - len(values)),
    ]  # fmt: skip


def _norms(features: Iterable[bytes], prefixes: frozenset[str]) -> frozenset[str]:
    """All norms that may be in a feature with one of these prefixes. In a pair, the norms are those on both sides of
    each bar, since a norm can be a bar itself."""
    found: set[str] = set()
    for feature in features:
        prefix, _, norm = feature.decode(errors="replace").partition("=")
        if prefix in prefixes:
            found.add(norm)
            found.update(
                part for at, character in enumerate(norm) if character == "|" for part in (norm[:at], norm[at + 1 :])
            )
    return frozenset(found)
