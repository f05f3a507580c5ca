"""Scorer: counts everything that `TableData` holds in one pass over the notes."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Final

from rapidfuzz.distance.Levenshtein import normalized_similarity

from annotations.scores.rules.errors import Error, Knot, LabeledBounds, errors_of, knots, pairs_of
from annotations.scores.rules.rates import Rates
from annotations.scores.rules.table import TableData, table_of
from annotations.scores.rules.tally import Criterion, NoteFlags, ScoreCounts
from annotations.text.bio import Precedence
from annotations.text.matching import match
from annotations.text.segments import sentences
from annotations.text.spans import Bounds, Parts, Span, Token, Tokenizer, check_bounds, covered, split_at, tokenize

THRESHOLD: Final = 0.6
"""The lowest Levenshtein similarity of two texts with tolerance (Singh et al. 2025, section 4.3)."""


def close(text: str, a: tuple[int, int], b: tuple[int, int], threshold: float = THRESHOLD) -> bool:
    """Whether the texts of two overlapping stretches of one note are similar enough.

    The bounds of the stretches often decide this without comparing texts. The distance is at most the number of
    characters that only one stretch has, and at least the difference in length. If one stretch contains the other,
    these two numbers are equal.
    """
    (a_start, a_end), (b_start, b_end) = a, b
    longest = max(a_end - a_start, b_end - b_start)
    most = abs(a_start - b_start) + abs(a_end - b_end)
    if 1 - most / longest >= threshold:
        return True
    least = abs((a_end - a_start) - (b_end - b_start))
    if least == most or 1 - least / longest < threshold:
        return False
    return normalized_similarity(text[a_start:a_end], text[b_start:b_end]) >= threshold


# Scores of the MEDDOCAN shared task (Marimon et al. 2019): sub-track 2 (sensitive spans) and the leak score.
#
# * strict: a prediction is right if gold has the same bounds, whatever the label.
# * merged: neighboring spans without an alphanumeric character between them are merged, in gold and in predictions.
#   What both contain, strictly or merged, is right; a strict span inside something right is not missed or spurious.
# * leak score: missed entities (bounds and label) per sentence. The task used FreeLing's sentences; callers of this
#   module use those of `text.sentences`.
#
# There is one difference from the task's script: when a span is merged with one that ends earlier, the later end is
# kept (the script takes the second span's end). The task's corpus has no such spans.


_ALPHANUMERIC: Final = re.compile(r"[^\W_]")


def merged(text: str, given: Iterable[Bounds]) -> list[Bounds]:
    """Join neighboring bounds without an alphanumeric character (as in `str.isalnum`) between them."""
    out: list[Bounds] = []
    for start, end in sorted(given):
        if out and (start <= out[-1][1] or not _ALPHANUMERIC.search(text, out[-1][1], start)):
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


def merged_rates(text: str, gold: set[Bounds], predicted: set[Bounds]) -> Rates:
    """The merged score of one note. `right` counts strict and merged spans, as the task does."""
    if gold == predicted:
        right = len(gold.union(merged(text, gold)))
        return Rates.paired(right, right, right)
    agreed = gold & predicted
    agreed.update(set(merged(text, gold)).intersection(merged(text, predicted)))
    inside = _Inside(sorted(agreed))
    spurious = sum(not inside(bounds) for bounds in predicted - gold)
    missed = sum(not inside(bounds) for bounds in gold - predicted)
    return Rates.paired(len(agreed), len(agreed) + spurious, len(agreed) + missed)


class _Inside:
    """A test whether bounds lie inside one of the given ones, which must be sorted."""

    def __init__(self, given: Sequence[Bounds]) -> None:
        self._starts = [start for start, _ in given]
        self._reach = list(accumulate((end for _, end in given), max))

    def __call__(self, bounds: Bounds) -> bool:
        at = bisect_right(self._starts, bounds[0])
        return at > 0 and self._reach[at - 1] >= bounds[1]


class Scorer:
    """Scores notes: call `add` for each note, then `table`.

    `label_order` contains all labels; it decides which of two labels a token has. `category_of` maps labels to
    categories. Tokens are split at the start and end of every gold and predicted span.
    """

    def __init__(
        self,
        label_order: Sequence[str],
        category_of: Mapping[str, str],
        *,
        has_labels: bool = True,
        threshold: float = THRESHOLD,
        chosen: Iterable[str] = (),
    ) -> None:
        """`has_labels` is False if the labels are categories, so that there is no finer level.

        `threshold` is the lowest similarity of two texts with tolerance. `chosen` are labels for which all-or-nothing
        recall is computed once more, without the gold spans of other labels.
        """
        self._labels = list(label_order)
        self._category_of = dict(category_of)
        # Every label as its own class.
        self._own = {label: label for label in self._category_of}
        self._has_labels = has_labels
        self._threshold = threshold
        self._chosen = frozenset(chosen)
        self._tally = ScoreCounts()
        self._done: TableData | None = None

    def add(
        self, text: str, gold: Iterable[Span], predicted: Iterable[Span], *, tokenizer: Tokenizer = tokenize
    ) -> list[Error]:
        """Count one note with the tokens of `tokenizer`, and return its errors in text order.

        Raises KeyError for a label without a category, SpanError for a span that is empty or not inside the text.
        """
        ours, theirs = self._bounds(text, gold), self._bounds(text, predicted)
        parts = Parts(text) if tokenizer is tokenize else _GivenTokens(tokenizer(text))
        flags = NoteFlags(labels={label for _, _, label in ours})
        inside = 0
        edges: list[int] = []
        for knot in knots(ours, theirs):
            edges += (knot.start, knot.end)
            length = parts.count(knot.start, knot.end)
            inside += length
            if not self._lone(knot, length, flags):
                self._tangled(text, knot, parts, flags)
        self._tally.outside_tokens += parts.whole(edges) - inside
        self._tally.sentences += len(sentences(text))
        flags.add_to(self._tally, self._category_of, self._chosen)
        self._tally.add_exact(len(set(ours).intersection(theirs)), len(theirs), len(ours))
        self._tally.merged += merged_rates(
            text, {(start, end) for start, end, _ in ours}, {(start, end) for start, end, _ in theirs}
        )
        return flags.errors

    def table(self) -> TableData:
        """The figures of all notes. No note may be added afterwards."""
        if self._done is None:
            self._tally.fold(self._category_of)
            self._done = table_of(
                self._tally, self._labels, self._category_of, has_labels=self._has_labels, threshold=self._threshold,
                chosen=self._chosen,
            )  # fmt: skip
        return self._done

    def _bounds(self, text: str, spans: Iterable[Span]) -> list[LabeledBounds]:
        length = len(text)
        found = {(span.start, span.end, span.label) for span in spans}
        for start, end, label in found:
            if not 0 <= start < end <= length:
                check_bounds(Span(start, end, label), length)
            if label not in self._category_of:
                raise KeyError(f"The label “{label}” has no category.")
        return sorted(found)

    def _lone(self, knot: Knot, tokens: int, flags: NoteFlags) -> bool:
        """Count a knot that is one span, or a gold span and an equal prediction. Returns whether the knot was one."""
        gold, predicted = knot.gold, knot.predicted
        if len(gold) > 1 or len(predicted) > 1:
            return False
        if not predicted:
            lones = self._tally.lone_missed
            flags.not_found(gold[0][2])
            flags.errors += errors_of((), gold, ())
        elif not gold:
            lones = self._tally.lone_spurious
            flags.errors += errors_of((), (), predicted)
        elif gold == predicted:
            lones = self._tally.lone_right
        else:
            return False
        lone = lones[(gold or predicted)[0][2]]
        lone.spans += 1
        lone.tokens += tokens
        return True

    def _tangled(self, text: str, knot: Knot, parts: "Parts | _GivenTokens", flags: NoteFlags) -> None:
        tokens = split_at(
            parts.inside(knot.start, knot.end),
            (edge for start, end, _ in (*knot.gold, *knot.predicted) for edge in (start, end)),
        )
        self._count_spans(knot)
        self._count_tokens(tokens, knot, parts)
        self._count_overlap(tokens, knot)
        pairs, missed, spurious = pairs_of(knot)
        self._tally.span_cells.update((g[2], p[2]) for g, p in pairs)
        self._tally.span_cells.update((g[2], "") for g in missed)
        self._tally.span_cells.update(("", p[2]) for p in spurious)
        errors = errors_of(pairs, missed, spurious)
        self._tally.kinds.update(str(error.kind) for error in errors)
        flags.errors += errors
        found = {
            Criterion.COVERED: _covered(tokens, knot),
            Criterion.EXACT: set(knot.gold).intersection(knot.predicted),
            **self._count_tolerant(text, knot),
        }
        for bounds in knot.gold:
            for criterion, spans in found.items():
                if bounds in spans:
                    self._tally.found_spans[criterion][bounds[2]] += 1
                else:
                    flags.not_found(bounds[2], [criterion])

    def _count_spans(self, knot: Knot) -> None:
        tally = self._tally
        tally.gold_spans.update(label for _, _, label in knot.gold)
        tally.predicted_spans.update(label for _, _, label in knot.predicted)
        tally.right_spans.update(label for _, _, label in set(knot.gold).intersection(knot.predicted))
        gold = {(start, end, self._category_of[label]) for start, end, label in knot.gold}
        predicted = {(start, end, self._category_of[label]) for start, end, label in knot.predicted}
        for at, spans in enumerate((predicted, gold & predicted, gold)):
            for _, _, category in spans:
                tally.categories[category][at] += 1
        bare_gold, bare_predicted = ({bounds[:2] for bounds in side} for side in (knot.gold, knot.predicted))
        for at, bare in enumerate((bare_predicted, bare_gold & bare_predicted, bare_gold)):
            tally.binary[at] += len(bare)

    def _count_tokens(self, tokens: list[Token], knot: Knot, parts: "Parts | _GivenTokens") -> None:
        self._tally.token_labels.update(
            zip(self._labels_of(tokens, knot.gold), self._labels_of(tokens, knot.predicted), strict=True)
        )
        for start, end, label in knot.gold:
            self._tally.gold_tokens[label] += parts.count(start, end)

    def _labels_of(self, tokens: list[Token], spans: Sequence[LabeledBounds]) -> list[tuple[str, ...]]:
        """The labels of each token, by precedence."""
        found: list[dict[str, None]] = [{} for _ in tokens]
        for span in sorted((Span(*bounds) for bounds in spans), key=Precedence(self._labels)):
            for at in range(*covered(tokens, span.start, span.end)):
                found[at][span.label] = None
        return list(map(tuple, found))

    def _count_overlap(self, tokens: list[Token], knot: Knot) -> None:
        """Count spans that overlap the other set, and all their tokens, as right (Xu et al. 2026, section 4)."""
        predicted, right = _overlapping(tokens, knot.predicted, knot.gold)
        gold, found = _overlapping(tokens, knot.gold, knot.predicted)
        tally = self._tally
        tally.overlap_spans += Rates(len(knot.predicted), right[0], len(knot.gold), found[0])
        tally.overlap_tokens += Rates(predicted, right[1], gold, found[1])

    def _count_tolerant(self, text: str, knot: Knot) -> dict[Criterion, set[LabeledBounds]]:
        """Count pairs that overlap and have similar texts, with any labels and with the same label.

        Returns the gold spans that were found with any label, with the same category and with the same label.
        """
        gold, predicted = ([Span(*bounds) for bounds in side] for side in (knot.gold, knot.predicted))

        def paired(class_of: Mapping[str, str] | None) -> list[tuple[int, int]]:
            """Pairs of indexes of predicted and gold spans, with the same class if `class_of` is given."""

            def similar(a: Span, b: Span) -> bool:
                if class_of is not None and class_of[a.label] != class_of[b.label]:
                    return False
                return close(text, (a.start, a.end), (b.start, b.end), self._threshold)

            return match(predicted, gold, compatible=similar)

        def kept(class_of: Mapping[str, str]) -> list[tuple[int, int]]:
            """The pairs with the same class: those of any labels if all of these have the same class."""
            if all(class_of[predicted[p].label] == class_of[gold[g].label] for p, g in any_label):
                return any_label
            return paired(class_of)

        any_label = paired(None)
        with_label = kept(self._own)
        self._tally.tolerant += Rates.paired(len(any_label), len(predicted), len(gold))
        self._tally.tolerant_label += Rates.paired(len(with_label), len(predicted), len(gold))
        with_category = kept(self._category_of)
        self._tally.tolerant_categories.update(self._category_of[gold[g].label] for _, g in with_category)
        found = (any_label, with_category, with_label)
        return {
            criterion: {knot.gold[g] for _, g in pairs}
            for criterion, pairs in zip(
                (Criterion.TOLERANT_ANY, Criterion.TOLERANT_CATEGORY, Criterion.TOLERANT), found, strict=True
            )
        }


class _GivenTokens:
    """The interface of `tokens.Parts` for the tokens of another tokenizer."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens

    def inside(self, start: int, end: int) -> list[Token]:
        first, past = covered(self._tokens, start, end)
        cut = split_at(self._tokens[first:past], (start, end))
        return [token for token in cut if token.start >= start and token.end <= end]

    def count(self, start: int, end: int) -> int:
        first, past = covered(self._tokens, start, end)
        return past - first

    def whole(self, cuts: Iterable[int]) -> int:
        return len(split_at(self._tokens, cuts))


def _overlapping(
    tokens: list[Token], ours: Sequence[LabeledBounds], theirs: Sequence[LabeledBounds]
) -> tuple[int, tuple[int, int]]:
    """The tokens of our spans; the number of our spans that overlap theirs; the tokens of those spans."""
    all_tokens: set[int] = set()
    right_tokens: set[int] = set()
    right = 0
    for start, end, _ in ours:
        own = range(*covered(tokens, start, end))
        all_tokens.update(own)
        if any(start < other_end and other_start < end for other_start, other_end, _ in theirs):
            right += 1
            right_tokens.update(own)
    return len(all_tokens), (right, len(right_tokens))


def _covered(tokens: list[Token], knot: Knot) -> set[LabeledBounds]:
    """The gold spans of which every token lies in a predicted span."""
    marked: set[int] = set()
    for start, end, _ in knot.predicted:
        marked.update(range(*covered(tokens, start, end)))
    return {bounds for bounds in knot.gold if marked.issuperset(range(*covered(tokens, bounds[0], bounds[1])))}
