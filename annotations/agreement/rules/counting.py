"""Counts of patterns of values, of spans that pairs share, and of found spans, over many notes at once.

The texts of a batch of notes are read as one long text with a space after each, and all their spans as arrays of
offsets in it. `units.table` lists the same units one by one; tests compare both. The figures import this module when
they are computed, since numpy takes time to load.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any, Final

import numpy as np

from annotations.agreement.rules.coefficients import (
    NEITHER_MARKED,
    NOT_IN_COMMON,
    AnnotatorGroup,
    MatchCriterion,
    Value,
)
from annotations.agreement.rules.units import (
    ComparedUnit,
    Granularity,
    NoteAnnotationSets,
    Pattern,
    Setup,
    granularities,
    span_granularity,
    valuer,
)
from annotations.text.bio import OUTSIDE
from annotations.text.characters import WHITE_SPACE, digit_ranges, word_ranges
from annotations.text.matching import match
from annotations.text.spans import Bounds, Span, tokenize

Array = np.ndarray[Any, Any]
# A batch has about this many characters.
CHARACTERS: Final = 500_000
# Codes of the values in a pattern: no value, O, then B- and I- of each label in turn.
OUT: Final = 1
LABELED: Final = 2
SPACE, OTHER = 0, 3


@dataclass(slots=True)
class PairCounts:
    """Counts of two annotators' spans in their common notes; `overlapping` counts one-to-one pairs with exact ones."""

    notes: int = 0
    ours: int = 0
    theirs: int = 0
    exact: int = 0
    overlapping: int = 0

    def f1(self, matched: int) -> Value:
        """The F1, 2 · matched / (ours + theirs). Undefined if neither annotator marked anything."""
        spans = self.ours + self.theirs
        if not self.notes:
            return Value(None, NOT_IN_COMMON)
        return Value(2 * matched / spans) if spans else Value(None, NEITHER_MARKED)


class AgreementCounts:
    """One pass over the annotation sets: patterns of tags by note, spans shared by pairs, and who found which span.

    `note_of`, `pattern_of` and `times` say how often each note (its index) has each of `patterns`. Units other than
    tokens have `B-` only. Notes with fewer than two of the annotators don't count. `given`: annotators × notes.
    """

    def __init__(self, notes: Iterable[NoteAnnotationSets], setup: Setup, unit: ComparedUnit) -> None:
        self.setup, self.unit = setup, unit
        self.patterns: list[Pattern] = []
        # The spans of each pair of annotators; for spans, BIO is the same as labels.
        self.shared: dict[Granularity, dict[tuple[str, str], PairCounts]] = {
            span_granularity(granularity): defaultdict(PairCounts) for granularity in granularities(unit)
        }
        self._known: dict[Pattern, int] = {}
        entries, given = [np.zeros((3, 0), int)], [np.zeros((len(setup.annotators), 0), bool)]
        about: list[tuple[int, int, bool]] = []
        found: dict[MatchCriterion, list[Array]] = defaultdict(list)
        for taken in _batches(notes, setup.annotators):
            batch = _Batch(taken, setup)
            entries.append(self._counted(batch) + np.array([[len(about)], [0], [0]]))
            for granularity, pairs in self.shared.items():
                batch.add_pairs(pairs, granularity)
            for matching in MatchCriterion:
                found[matching].append(batch.found(matching))
            given.append(batch.given)
            about += [(note.note, note.round, note.mixed) for note in taken]
        self.notes = len(about)
        self.note_ids, self.round_of, self.mixed = np.array(about, int).reshape(-1, 3).T
        self.note_of, self.pattern_of, self.times = np.hstack(entries)
        self.given = np.hstack(given)
        self.groups = {matching: dict(self._groups(found[matching])) for matching in MatchCriterion}

    def _counted(self, batch: "_Batch") -> Array:
        """How often each note of the batch has each pattern: rows of notes, patterns and counts."""
        codes, times, note = batch.units(self.unit)
        kinds, key = LABELED + 2 * len(batch.labels), np.zeros(len(note), int)
        for row in codes:
            key = np.unique(key * kinds + row, return_inverse=True)[1]
        _, examples, pattern = np.unique(key, return_index=True, return_inverse=True)
        tags = [None, OUTSIDE, *(f"{mark}-{label}" for label in batch.labels for mark in "BI")]
        made = [tuple([tags[code] for code in column]) for column in codes[:, examples].T.tolist()]
        known = np.array([self._index(each) for each in made], int)
        cells, back = np.unique(note * (len(self.patterns) + 1) + known[pattern], return_inverse=True)
        return np.array([*np.divmod(cells, len(self.patterns) + 1), np.bincount(back, times, len(cells))]).astype(int)

    def _index(self, pattern: Pattern) -> int:
        index = self._known.setdefault(pattern, len(self.patterns))
        if index == len(self.patterns):
            self.patterns.append(pattern)
        return index

    def _groups(self, found: Sequence[Array]) -> Iterator[tuple[tuple[str, ...], AnnotatorGroup]]:
        """The notes by their annotators."""
        if not found:
            return
        found_by, alone, every = np.split(np.vstack(found), 3, axis=1)
        kinds, kind_of = np.unique(self.given.T, axis=0, return_inverse=True)
        for number, members in enumerate(kinds):
            who, notes = np.flatnonzero(members), np.flatnonzero(kind_of == number)
            names = tuple([self.setup.annotators[at] for at in who.tolist()])
            rows = found_by[notes, : len(who)], alone[np.ix_(notes, who)], every[np.ix_(notes, who)]
            yield names, AnnotatorGroup(names, notes, *rows)


def _batches(notes: Iterable[NoteAnnotationSets], annotators: Sequence[str]) -> Iterator[list[NoteAnnotationSets]]:
    """The notes that at least two of the annotators submitted, some at a time."""
    batch: list[NoteAnnotationSets] = []
    size = 0
    for note in notes:
        if sum(name in note.annotation_sets for name in annotators) > 1:
            batch.append(note)
            size += len(note.text)
        if size > CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class _Batch:
    """Notes as one long text.

    `begins`: where each note begins, and the end. `given`: annotators × notes. The arrays of spans are in an order in
    which each span comes after those that it wins over: the winner of a token is the longest span, then the earliest,
    then the one whose label comes first. `labels` are in this order. `bound_of`: the index of each span's bounds among
    the distinct ones, which are in order. `chain`: the number of the chain of overlapping spans of each bounds.
    """

    def __init__(self, notes: Sequence[NoteAnnotationSets], setup: Setup) -> None:
        self.notes, self.setup = notes, setup
        self.begins = np.cumsum([0, *(len(note.text) + 1 for note in notes)])
        self.given = np.array([[name in note.annotation_sets for note in notes] for name in setup.annotators])
        sets = [
            (who, begin, note.annotation_sets.get(name, ()))
            for note, begin in zip(notes, self.begins.tolist(), strict=False)
            for who, name in enumerate(setup.annotators)
        ]
        spans = [span for *_, every in sets for span in every]
        sizes = [len(every) for *_, every in sets]
        begin = np.repeat(np.array([begin for _, begin, _ in sets], int), sizes)
        rank = {label: at for at, label in reversed(list(enumerate(setup.labels)))}
        self.labels = sorted({span.label for span in spans}, key=lambda label: (rank.get(label, len(rank)), label))
        at = {label: number for number, label in enumerate(self.labels)}
        label = np.array([at[span.label] for span in spans], int)
        start = np.array([span.start for span in spans], int) + begin
        end = np.array([span.end for span in spans], int) + begin
        order = np.lexsort((label, start, start - end))[::-1]
        self.who = np.repeat(np.array([who for who, *_ in sets], int), sizes)[order]
        self.label, self.start, self.end = label[order], start[order], end[order]
        bounds, self.bound_of = np.unique(self.start * self.begins[-1] + self.end, return_inverse=True)
        self.starts, self.ends = np.divmod(bounds, self.begins[-1])
        self.chain = np.zeros(len(bounds), int)
        self.chain[1:] = np.cumsum(self.starts[1:] >= np.maximum.accumulate(self.ends)[:-1])

    def note_at(self, offsets: Array) -> Array:
        result: Array = np.searchsorted(self.begins, offsets, "right") - 1
        return result

    def units(self, unit: ComparedUnit) -> tuple[Array, Array, Array]:
        """The units that somebody marked, and those that nobody marked together: codes (annotators × units), how many
        units have them, and their notes."""
        if unit is ComparedUnit.ENTITY:
            note = self.note_at(self.starts)
            codes = self.given[:, note] * OUT
            codes[self.who, self.bound_of] = LABELED + 2 * self.label
            return codes, np.ones(len(note), int), note
        edges = np.unique(np.concatenate([self.start, self.end]))
        left, right = edges[:-1], edges[1:]
        if unit is ComparedUnit.CHARACTER:
            sizes, totals = right - left, np.diff(self.begins) - 1
        else:
            before, cut = self._tokens()
            sizes = before[right] - before[left] + cut[left]
            totals = np.diff(before[self.begins]) + np.bincount(self.note_at(edges), cut[edges], len(self.notes))
        winner = self._winners(edges)[:, :-1]
        marked = (winner >= 0).any(axis=0) & (sizes > 0)
        winner, times, note = winner[:, marked], sizes[marked], self.note_at(left[marked])
        others = totals - np.bincount(note, times, len(self.notes))
        labeled = winner >= 0
        codes = np.where(labeled, LABELED + 2 * self.label[winner], self.given[:, note] * OUT)
        if unit is not ComparedUnit.CHARACTER:
            # The first token of a stretch is the first of a span, if the token before belongs to another one.
            inside = labeled.copy()
            inside[:, 1:] &= winner[:, 1:] == winner[:, :-1]
            inside[:, :1] = False
            more = times > 1
            codes = np.hstack([codes + inside, (codes + labeled)[:, more]])
            times, note = (
                np.concatenate([np.ones(len(times), int), times[more] - 1]),
                np.concatenate([note, note[more]]),
            )
        if unit is ComparedUnit.MARKED:
            return codes, times, note
        some = np.flatnonzero(others)
        codes = np.hstack([codes, self.given[:, some] * OUT])
        return codes, np.concatenate([times, others[some]]), np.concatenate([note, some])

    def _winners(self, edges: Array) -> Array:
        """The index of each annotator's span in the stretches that begin at the edges; -1 where there is none."""
        winner = np.full((len(self.given), len(edges)), -1)
        first = np.searchsorted(edges, self.start)
        sizes = np.searchsorted(edges, self.end) - first
        at = np.arange(sizes.sum()) + np.repeat(first - np.cumsum(sizes) + sizes, sizes)
        winner[np.repeat(self.who, sizes), at] = np.repeat(np.arange(len(sizes)), sizes)
        return winner

    def _tokens(self) -> tuple[Array, Array]:
        """How many tokens begin before each offset, and whether a cut there would split a token."""
        if all(note.tokenizer is tokenize for note in self.notes):
            text = " ".join([*(note.text for note in self.notes), ""])
            kind = _kinds()[np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)]
            cut = np.zeros(len(kind), bool)
            cut[1:] = (kind[1:] == kind[:-1]) & (kind[1:] != SPACE) & (kind[1:] != OTHER)
            begins = (kind != SPACE) & ~cut
        else:
            begins, cut = np.zeros((2, self.begins[-1]), bool)
            for note, begin in zip(self.notes, self.begins, strict=False):
                for start, end in note.tokenizer(note.text):
                    begins[begin + start] = True
                    cut[begin + start + 1 : begin + end] = True
        return np.concatenate([[0], np.cumsum(begins)]), cut

    def add_pairs(self, pairs: dict[tuple[str, str], PairCounts], granularity: Granularity) -> None:
        """Count the spans that each two annotators share."""
        to_value = valuer(granularity, self.setup.category_of)
        values = {value: at for at, value in enumerate(dict.fromkeys(to_value(f"B-{label}") for label in self.labels))}
        value = np.array([values[to_value(f"B-{label}")] for label in self.labels], int)
        kinds = len(values) or 1
        keys = self.bound_of * kinds + value[self.label]
        by = [np.unique(keys[self.who == who]) for who in range(len(self.given))]
        note = self.note_at(self.starts)
        for a, b in combinations(range(len(by)), 2):
            both = self.given[a] & self.given[b]
            if not both.any():
                continue
            ours, theirs = [each[both[note[each // kinds]]] for each in (by[a], by[b])]
            same = np.intersect1d(ours, theirs, assume_unique=True)
            rest = [np.setdiff1d(each, same, assume_unique=True) for each in (ours, theirs)]
            counts = pairs[self.setup.annotators[a], self.setup.annotators[b]]
            counts.notes += int(both.sum())
            counts.ours += len(ours)
            counts.theirs += len(theirs)
            counts.exact += len(same)
            counts.overlapping += len(same) + self._overlapping(rest, kinds)

    def _overlapping(self, rest: Sequence[Array], kinds: int) -> int:
        """How many pairs of overlapping spans with the same value there are, at most one for each span."""
        chains = [self.chain[each // kinds] * kinds + each % kinds for each in rest]
        common = np.intersect1d(*chains)
        groups: dict[int, tuple[list[Bounds], list[Bounds]]] = defaultdict(lambda: ([], []))
        for side, (each, chain) in enumerate(zip(rest, chains, strict=True)):
            among = np.isin(chain, common)
            bound = each[among] // kinds
            rows = zip(chain[among].tolist(), self.starts[bound].tolist(), self.ends[bound].tolist(), strict=True)
            for group, start, end in rows:
                groups[group][side].append((start, end))
        return sum(_paired(ours, theirs) for ours, theirs in groups.values())

    def found(self, matching: MatchCriterion) -> Array:
        """For each note: the spans found by 1, 2, … annotators, those that each found alone, and all that each found.

        With OVERLAP, a chain of overlapping spans counts as one.
        """
        item = self.bound_of if matching is MatchCriterion.EXACT else self.chain[self.bound_of]
        note = np.zeros(item.max(initial=-1) + 1, int)
        note[item] = self.note_at(self.start)
        found = np.zeros((len(self.given), len(note)), bool)
        found[self.who, item] = True
        by, size = found.sum(axis=0), len(self.notes)
        found_by = [np.bincount(note[by == times], minlength=size) for times in range(1, len(found) + 1)]
        alone = [np.bincount(note[row & (by == 1)], minlength=size) for row in found]
        return np.array([*found_by, *alone, *(np.bincount(note[row], minlength=size) for row in found)]).T


def _paired(ours: Sequence[Bounds], theirs: Sequence[Bounds]) -> int:
    """The largest number of pairs of overlapping spans, one to one."""
    if len(ours) == len(theirs) == 1:
        return int(max(ours[0][0], theirs[0][0]) < min(ours[0][1], theirs[0][1]))
    return len(match([Span(*bounds, "") for bounds in ours], [Span(*bounds, "") for bounds in theirs]))


@cache
def _kinds() -> Array:
    """The kind of each code point: white space, letter or mark, digit, or other."""
    kinds = np.full(0x110000, OTHER, np.uint8)
    for kind, ranges in ((1, word_ranges()), (2, digit_ranges())):
        for first, past in ranges:
            kinds[first:past] = kind
    kinds[[ord(character) for character in WHITE_SPACE]] = SPACE
    return kinds
