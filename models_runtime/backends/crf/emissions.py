"""Emission scores of tokens: for each tag, the sum of the weights of a token's features.

crfsuite looks up every feature of every token by its name. Here the weights of all features that depend on the same key
(a form, a window of shapes, a header field with its distance, …) are summed once, and the scores of a note are added up
from these sums. Keys are numbers, so that those of all tokens are made together.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import chain
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from models_runtime.backends.crf.features import (
    ADJACENT,
    AROUND,
    NORM_PAIRS,
    NORMS,
    NORMS_SEEN,
    NOTHING,
    NOWHERE,
    PAIRS_SEEN,
    Lexicon,
    SpellingFeatures,
    lines_of,
)
from models_runtime.backends.crf.model import Floats, Weights
from models_runtime.backends.notes import FURTHEST, Note, touching, word

# Tables of summed weights: the scores that the features of a key add to the tags of tokens.


Numbers = NDArray[np.intp]
Spell = Callable[[Any], Sequence[Sequence[str]]]
"""A function that gives the features of a key, for each of the tokens that the key is seen from."""

# A table with more sums, bytes or keys is cleared before the next sequence. This bounds memory.
MOST_SUMS: Final = 1 << 14
MOST_BYTES: Final = 64 << 20
MOST_KEYS: Final = 1 << 16
# Keys of a sequence: at most 2000 tokens, with some more around them.
SEQUENCE: Final = 1 << 11
_FIRST: Final = 64
# Bits of a number in a key that consists of several numbers. No number needs more before the tables are cleared.
_BITS: Final = 20
# Bits of a key's hash (see Recent), and a factor that mixes the bits of the key (Knuth 1998, section 6.4).
_HASH: Final = 13
_FACTOR: Final = -0x61C8864680B583EB


class Names(dict[Hashable, int]):
    """Numbers names in the order of their first use; `names` has them by number."""

    def __init__(self, *names: Hashable) -> None:
        super().__init__()
        self.names: list[Any] = []
        self.of(names)

    def __missing__(self, name: Hashable) -> int:
        self[name] = number = len(self.names)
        self.names.append(name)
        return number

    def of(self, names: Sequence[Hashable]) -> Numbers:
        """The number of each name."""
        return np.fromiter(map(self.__getitem__, names), np.intp, len(names))

    @property
    def is_full(self) -> bool:
        return len(self) > MOST_KEYS


class Recent:
    """What a table has for keys that are numbers, kept in arrays by their hashes: one key per hash, the most recent."""

    def __init__(self, table: dict[Any, int]) -> None:
        self._table = table
        self.clear()

    def clear(self) -> None:
        self._keys, self._found = np.full(1 << _HASH, -1, np.int64), np.zeros(1 << _HASH, np.intp)

    def of(self, keys: Numbers) -> Numbers:
        at = (keys * _FACTOR >> 40) & ((1 << _HASH) - 1)
        found: Numbers = self._found[at]
        missed = np.flatnonzero(self._keys[at] != keys)
        if len(missed):
            new, at = keys[missed], at[missed]
            found[missed] = values = np.fromiter(map(self._table.__getitem__, new.tolist()), np.intp, len(new))
            self._keys[at], self._found[at] = new, values
        return found


class Sums(dict[Any, int]):
    """The row of each key's sums; 0 for a key without features in the model.

    `shifts`: the distances from a token to the keys that it sees, in ascending order. `times`: how many times MOST_SUMS
    are kept at most.
    """

    def __init__(self, weights: Weights, shifts: Sequence[int], spell: Spell, times: int = 1) -> None:
        super().__init__()
        self._weights, self._shifts, self._spell = weights, shifts, spell
        # Indexed by shift, row, tag.
        self._sums = self._rows_of(_FIRST)
        # For each row that has not been summed up yet: the ids of its features, by shift. They are the last rows.
        self._new: list[list[list[int]]] = []
        self._past = 1
        self._most = max(1, min(times * MOST_SUMS, MOST_BYTES // (self._sums[:, 0].nbytes or 1)))
        self._recent = Recent(self)

    def _rows_of(self, count: int) -> Floats:
        return np.zeros((len(self._shifts), count, len(self._weights.tags)))

    @property
    def is_full(self) -> bool:
        """Whether the keys of one more sequence could exceed the limit."""
        return self._past > self._most - min(SEQUENCE, self._most // 2) or len(self) > MOST_KEYS

    @property
    def nbytes(self) -> int:
        """The size of the sums."""
        return self._summed().nbytes

    def clear(self) -> None:
        super().clear()
        self._recent.clear()
        self._new.clear()
        self._past = 1
        if self._sums.shape[1] > max(self._most, _FIRST):
            self._sums = self._rows_of(_FIRST)

    def rows(self, keys: Sequence[Any]) -> Numbers:
        """The row of each key."""
        return np.fromiter(map(self.__getitem__, keys), np.intp, len(keys))

    def rows_of(self, keys: Numbers) -> Numbers:
        """The row of each key, in a fraction of the time that `rows` takes for numbers."""
        return self._recent.of(keys)

    def add(self, rows: Numbers, scores: Floats, spare: Floats) -> None:
        """Add to `scores` [tokens, tags] the sums of these rows. `spare` is a buffer of the same size.

        The first row is that of the key that the first token sees at the first shift.
        """
        for sums, shift in zip(self._summed(), self._shifts, strict=True):
            first = shift - self._shifts[0]
            np.take(sums, rows[first : first + len(scores)], axis=0, out=spare, mode="clip")
            scores += spare

    def __missing__(self, key: Any) -> int:
        known = [self._weights.numbers(features) for features in self._spell(key)]
        if not any(known):
            self[key] = 0
            return 0
        self._new.append(known)
        self[key] = number = self._past
        self._past += 1
        return number

    def _summed(self) -> Floats:
        """The sums of all rows. Those of new keys are computed together, which takes a fraction of the time."""
        if self._new:
            first = self._past - len(self._new)
            if self._past > self._sums.shape[1]:
                self._grow()
            features = [each for at_shift in zip(*self._new, strict=True) for each in at_shift]
            summed = self._weights.sums(features).reshape(len(self._shifts), len(self._new), -1)
            self._sums[:, first : self._past] = summed
            self._new.clear()
        return self._sums

    def _grow(self) -> None:
        """Up to the limit, the table doubles. A sequence with more keys than that gets what it needs."""
        size = self._sums.shape[1]
        while size < self._past:
            more = min(size, self._most - size)
            size += more if more > 0 else max(_FIRST, size // 8)
        self._sums = np.concatenate([self._sums, self._rows_of(size - self._sums.shape[1])], axis=1)


def joined(*numbers: Any) -> Any:
    """One key of up to three numbers."""
    key = numbers[0]
    for number in numbers[1:]:
        key = key << _BITS | number
    return key


def parts(key: int, count: int) -> list[int]:
    """The numbers of a joined key."""
    return [key >> _BITS * at & (1 << _BITS) - 1 for at in range(count - 1, -1, -1)]


# Bits of what Spelling.edges takes.
_EDGES: Final = 4
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
        # A buffer that is kept, because new memory of this size costs as much time as several sums.
        self._spare = np.empty((0, len(weights.tags)))
        self._clear()

    def _clear(self) -> None:
        spelling = SpellingFeatures()
        self._shapes, self._shorts, self._short_pairs, self._fields, self._starts = (Names() for _ in range(5))
        self._rule_tags = Names(NOTHING)
        self._recent_pairs = Recent(self._short_pairs)
        # A norm without features in the model has the number 0.
        self._norms, self._pairs, self._listed = Names(None), Names(None), Names()
        self._forget()

        def sums(spell: Callable[..., Sequence[Sequence[str]]], shifts: Sequence[int] = (0,), times: int = 1) -> Sums:
            return Sums(self._weights, shifts, spell, times)

        def pair(key: int) -> Sequence[Sequence[str]]:
            return spelling.norm_pair(*(self._pairs.names[at] for at in parts(key, 2)))

        def own(form: str) -> Sequence[Sequence[str]]:
            each = word(form) if form else None
            fields = self._lexicon.get(each.lower) if each else None
            return spelling.own_listed(each, fields) if each and fields else spelling.own(each)

        def around(key: tuple[int, int, int]) -> Sequence[Sequence[str]]:
            norm, shape, fields = key
            return spelling.around(self._norms.names[norm], self._shapes.names[shape], self._listed.names[fields])

        def near(key: int) -> Sequence[Sequence[str]]:
            *rules, last = parts(key, 3)
            rules.append(last >> _EDGES)
            tags = (spelling.rule(self._rule_tags.names[number])[at] for at, number in enumerate(rules))
            return [[*chain.from_iterable(tags), *spelling.edges(last & (1 << _EDGES) - 1)[0]]]

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
            # A note of MEDDOCAN has 37 forms that are not kept, instead of 60 with half of this table.
            "own": sums(own, times=2),
            "around": sums(around, NORMS),
            "memory": sums(spelling.memory, ADJACENT),
            "near": sums(near),
            "pair": sums(pair, NORM_PAIRS),
            "shapes": sums(shapes),
            "shorts": sums(shorts),
            "field": sums(field),
            "into": sums(into),
            "line": sums(lambda key: spelling.line(*key)),
            "earlier": sums(spelling.earlier, ADJACENT),
            "tenth": sums(lambda key: spelling.tenth(*key)),
        }

    def _forget(self) -> None:
        self._forms, self._lowers = Names(), Names()
        # For each form, the rows of its sums, and the numbers of its norm among those of pairs, of its shape, of its
        # short shape, and of the form in lower case.
        self._of_form = np.zeros((1 << 10, 6), np.intp)

    def _make_room(self) -> None:
        """Clear full tables, and all tables if one of those is full whose numbers are in the keys of others."""
        names = (self._shapes, self._shorts, self._short_pairs, self._fields, self._starts, self._norms, self._pairs)
        if any(table.is_full for table in (*names, self._listed, self._rule_tags)):
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
        scores = np.zeros((past - first, len(self._weights.tags)))
        if len(self._spare) < len(scores):
            self._spare = np.empty_like(scores)
        spare = self._spare[: len(scores)]

        def add(name: str, rows: Numbers) -> None:
            self._sums[name].add(rows, scores, spare)

        own, around, norms, shapes, shorts, lowers = self._numbered(_around(note.forms, first, past, NOWHERE)).T
        add("own", own[AROUND:-AROUND])
        add("around", around)
        if note.memory:
            add("memory", self._remembered(note, lowers[AROUND - 1 : len(lowers) - AROUND + 1]))
        add("pair", self._paired_norms(norms))
        rules = self._rule_tags.of(_around(rule_tags, first, past, NOTHING, 1))
        edges = _edges(note)[first:past]
        add("near", self._rows("near", joined(rules[:-2], rules[1:-1], rules[2:] << _EDGES | edges)))
        reach = slice(AROUND - _REACH, len(own) - AROUND + _REACH)
        shapes, shorts = shapes[reach], shorts[reach]
        add("shapes", self._rows("shapes", joined(shapes[1:-3], shapes[2:-2], shapes[3:-1])))
        pairs = self._recent_pairs.of(joined(shorts[:-1], shorts[1:]))
        add("shorts", self._rows("shorts", joined(pairs[:-3], pairs[2:-1], shorts[4:])))
        for name, rows in self._positional(note, shorts[_REACH:-_REACH], first, past):
            add(name, rows)
        if self._staged:
            add("earlier", self._sums["earlier"].rows(_around([tag for tag, _ in earlier], first, past, NOTHING, 1)))
            add("tenth", self._sums["tenth"].rows(earlier[first:past]))
        return scores

    def _rows(self, name: str, keys: Numbers) -> Numbers:
        return self._sums[name].rows_of(keys)

    def _numbered(self, forms: Sequence[str]) -> Numbers:
        """What `_of_form` has for each form [forms, 6]."""
        known = len(self._forms)
        numbers = self._forms.of(forms)
        new = self._forms.names[known:]
        while len(self._forms) > len(self._of_form):
            self._of_form = np.concatenate([self._of_form, np.zeros_like(self._of_form)])
        if new:
            self._of_form[known : len(self._forms)] = [self._form(form) for form in new]
        return self._of_form[numbers]

    def _form(self, form: str) -> tuple[int, ...]:
        """What `_of_form` has for a form."""
        each = word(form)
        norm, shape, short = (each.norm, each.shape, each.short) if form else (NOTHING, NOTHING, NOTHING)
        seen, shape_number = self._norms[norm] if norm in self._seen else 0, self._shapes[shape]
        around = seen, shape_number, self._listed[self._lexicon.get(each.lower, ())]
        pair = self._pairs[norm] if norm in self._paired else 0
        own, lower = self._sums["own"][form], self._lowers[each.lower]
        return own, self._sums["around"][around], pair, shape_number, self._shorts[short], lower

    def _remembered(self, note: Note, lowers: Numbers) -> Numbers:
        """The rows of the words that the note remembers, 0 for all others. `lowers`: numbers of words in lower case."""
        sums = self._sums["memory"]
        rows = np.zeros(len(self._lowers), np.intp)
        for lower, fields in note.memory.items():
            # A word of the note may be far from the tokens that are computed.
            if (number := self._lowers.get(lower)) is not None:
                rows[number] = sums[fields]
        return rows[lowers]

    def _paired_norms(self, norms: Numbers) -> Numbers:
        """The rows of pairs. `norms` begin AROUND tokens before the first one, and end as many behind the last."""
        reach = norms[AROUND + NORM_PAIRS[0] : len(norms) - AROUND + NORM_PAIRS[-1] + 1]
        keys = joined(reach[:-1], reach[1:])
        both = np.flatnonzero((reach[:-1] > 0) & (reach[1:] > 0))
        rows = np.zeros(len(keys), np.intp)
        rows[both] = self._rows("pair", keys[both])
        return rows

    def _positional(self, note: Note, shorts: Numbers, first: int, past: int) -> Iterable[tuple[str, Numbers]]:
        """The rows of keys from a token's position: its header field and its line."""
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


def _edges(note: Note) -> Numbers:
    """For each token, whether it touches its neighbors, and whether it begins or ends a line (see Spelling.edges)."""
    glued = touching(note.tokens)
    edges = 8 * glued[:-1] + 4 * glued[1:]
    edges[[begin for begin, _ in note.edges]] += 2
    edges[[end - 1 for _, end in note.edges]] += 1
    return np.asarray(edges, np.intp)


def _around(values: Sequence[Any], first: int, past: int, nothing: Any, reach: int = AROUND) -> list[Any]:
    """The values from `first` to `past` with `reach` more at each end; `nothing` where there are no tokens."""
    low, high = first - reach, past + reach
    return [
        *[nothing] * max(0, -low), *values[max(0, low) : high], *[nothing] * max(0, high - len(values))
    ]  # fmt: skip


def _norms(features: Iterable[str], prefixes: frozenset[str]) -> frozenset[str]:
    """All norms that may be in a feature with one of these prefixes. In a pair, the norms are those on both sides of
    each bar, since a norm can be a bar itself."""
    found: set[str] = set()
    for feature in features:
        prefix, _, norm = feature.partition("=")
        if prefix in prefixes:
            found.add(norm)
            found.update(
                part for at, character in enumerate(norm) if character == "|" for part in (norm[:at], norm[at + 1 :])
            )
    return frozenset(found)
