"""Scores note by note: everything that `ScoreTable` shows is counted in one pass."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from annotations.domain.bio import OUTSIDE, encode_tokens
from annotations.domain.matching import match
from annotations.domain.scoring.errors import Error, errors_of, pairs_of
from annotations.domain.scoring.knots import Knot, Place, knots
from annotations.domain.scoring.meddocan import merged_rates
from annotations.domain.scoring.rates import Rates
from annotations.domain.scoring.similarity import close
from annotations.domain.scoring.table import ScoreTable, table_of
from annotations.domain.scoring.tally import Criterion, NoteFlags, Tally
from annotations.domain.sentences import sentences
from annotations.domain.spans import Span, check_bounds
from annotations.domain.tokens import Parts, Token, Tokenizer, covered, split_at, tokenize


class Scorer:
    """`add` notes, then `table`. `label_order` are all labels; it settles which of two labels a token has.

    `category_of` names each label's category. Tokens are those of the rule (or of `tokenizer`), split at every end of
    every span of the two sides.
    """

    def __init__(
        self,
        label_order: Sequence[str],
        category_of: Mapping[str, str],
        *,
        tokenizer: Tokenizer = tokenize,
        has_labels: bool = True,
    ) -> None:
        """`has_labels` is False where the labels are categories already, so that there is no finer level."""
        self._labels = list(label_order)
        self._category_of = dict(category_of)
        self._tokenizer = tokenizer
        self._has_labels = has_labels
        self._tally = Tally()
        self._done: ScoreTable | None = None

    def add(self, text: str, gold: Iterable[Span], predicted: Iterable[Span]) -> list[Error]:
        """Count one note; what isn't right in it, in reading order.

        Raises KeyError for a label without a category, SpanError for a span that is empty or leaves the text.
        """
        ours, theirs = self._places(text, gold), self._places(text, predicted)
        parts = Parts(text) if self._tokenizer is tokenize else _Given(self._tokenizer(text))
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
        flags.add_to(self._tally)
        self._tally.merged += merged_rates(
            text, {(start, end) for start, end, _ in ours}, {(start, end) for start, end, _ in theirs}
        )
        return flags.errors

    def table(self) -> ScoreTable:
        """The figures of all notes so far; no note can be added afterwards."""
        if self._done is None:
            self._tally.fold(self._category_of)
            self._done = table_of(self._tally, self._labels, self._category_of, has_labels=self._has_labels)
        return self._done

    def _places(self, text: str, spans: Iterable[Span]) -> list[Place]:
        length = len(text)
        places = {(span.start, span.end, span.label) for span in spans}
        for start, end, label in places:
            if not 0 <= start < end <= length:
                check_bounds(Span(start, end, label), length)
            if label not in self._category_of:
                raise KeyError(f"the label {label!r} has no category")
        return sorted(places)

    def _lone(self, knot: Knot, tokens: int, flags: NoteFlags) -> bool:
        """A knot of one span, or of two that are the same."""
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

    def _tangled(self, text: str, knot: Knot, parts: "Parts | _Given", flags: NoteFlags) -> None:
        tokens = split_at(
            parts.inside(knot.start, knot.end),
            (edge for start, end, _ in (*knot.gold, *knot.predicted) for edge in (start, end)),
        )
        self._count_places(knot)
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
            Criterion.TOLERANT: self._count_tolerant(text, knot),
        }
        for place in knot.gold:
            for criterion, places in found.items():
                if place in places:
                    self._tally.found_spans[criterion][place[2]] += 1
                else:
                    flags.not_found(place[2], [criterion])

    def _count_places(self, knot: Knot) -> None:
        tally = self._tally
        tally.gold_spans.update(label for _, _, label in knot.gold)
        tally.predicted_spans.update(label for _, _, label in knot.predicted)
        tally.right_spans.update(label for _, _, label in set(knot.gold).intersection(knot.predicted))
        gold = {(start, end, self._category_of[label]) for start, end, label in knot.gold}
        predicted = {(start, end, self._category_of[label]) for start, end, label in knot.predicted}
        for at, places in enumerate((predicted, gold & predicted, gold)):
            for _, _, category in places:
                tally.categories[category][at] += 1
        bare_gold, bare_predicted = ({place[:2] for place in side} for side in (knot.gold, knot.predicted))
        for at, bare in enumerate((bare_predicted, bare_gold & bare_predicted, bare_gold)):
            tally.binary[at] += len(bare)

    def _count_tokens(self, tokens: list[Token], knot: Knot, parts: "Parts | _Given") -> None:
        self._tally.token_cells.update(
            zip(self._values(tokens, knot.gold), self._values(tokens, knot.predicted), strict=True)
        )
        for start, end, label in knot.gold:
            self._tally.gold_tokens[label] += parts.count(start, end)

    def _values(self, tokens: list[Token], places: Sequence[Place]) -> list[str]:
        """The label of each token, empty for none."""
        tags = encode_tokens(tokens, [Span(*place) for place in places], label_order=self._labels).tags
        return ["" if tag == OUTSIDE else tag[2:] for tag in tags]

    def _count_overlap(self, tokens: list[Token], knot: Knot) -> None:
        """A span is right if it overlaps one of the other side, and then all its tokens are (001, section 4)."""
        predicted, right = _overlapping(tokens, knot.predicted, knot.gold)
        gold, found = _overlapping(tokens, knot.gold, knot.predicted)
        tally = self._tally
        tally.overlap_spans += Rates(len(knot.predicted), right[0], len(knot.gold), found[0])
        tally.overlap_tokens += Rates(predicted, right[1], gold, found[1])

    def _count_tolerant(self, text: str, knot: Knot) -> set[Place]:
        """Pairs that overlap and have similar texts, any labels and the same label; gold found with its label."""

        def similar(a: Span, b: Span) -> bool:
            return close(text, (a.start, a.end), (b.start, b.end))

        def same(a: Span, b: Span) -> bool:
            return a.label == b.label and similar(a, b)

        gold, predicted = ([Span(*place) for place in side] for side in (knot.gold, knot.predicted))
        tests: tuple[Callable[[Span, Span], bool], ...] = (similar, same)
        any_label, with_label = (match(predicted, gold, compatible=test) for test in tests)
        self._tally.tolerant += Rates.paired(len(any_label), len(predicted), len(gold))
        self._tally.tolerant_label += Rates.paired(len(with_label), len(predicted), len(gold))
        return {knot.gold[g] for _, g in with_label}


class _Given:
    """Parts of a text whose tokens another tokenizer made."""

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


def _overlapping(tokens: list[Token], ours: Sequence[Place], theirs: Sequence[Place]) -> tuple[int, tuple[int, int]]:
    """How many tokens our spans have; how many of our spans overlap theirs, and how many tokens those have."""
    all_tokens: set[int] = set()
    right_tokens: set[int] = set()
    right = 0
    for start, end, _ in ours:
        place = range(*covered(tokens, start, end))
        all_tokens.update(place)
        if any(start < other_end and other_start < end for other_start, other_end, _ in theirs):
            right += 1
            right_tokens.update(place)
    return len(all_tokens), (right, len(right_tokens))


def _covered(tokens: list[Token], knot: Knot) -> set[Place]:
    """The gold places of which every token lies in some predicted span."""
    marked: set[int] = set()
    for start, end, _ in knot.predicted:
        marked.update(range(*covered(tokens, start, end)))
    return {place for place in knot.gold if marked.issuperset(range(*covered(tokens, place[0], place[1])))}
