"""The best tags of each sequence with their probabilities, as in crfsuite (crf1d_context.c).

Best tags are computed in the precision of the scores, probabilities in double precision. Several sequences are computed
at a time: a step from token to token needs few operations, so that for many sequences it costs hardly more than for
one.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from annotations.text.spans import Span
from models_runtime.backends.base import StreamingBackend
from models_runtime.backends.crf.model import Floats
from models_runtime.backends.marginals import DECIMALS, Marginals, Marked, confident_spans
from models_runtime.backends.notes import Note

Indexes = NDArray[np.intp]


class Path(NamedTuple):
    """Index and marginal probability of each token's tag. The probability is NaN if a model's weights are so large that
    it can't be computed. `marginals`: the probabilities of all tags [tokens, tags], if they were asked for."""

    tags: list[int]
    odds: list[float]
    marginals: Floats | None = None


def likeliest(emissions: Iterable[Floats]) -> list[Path]:
    """The paths without scores of steps: the likeliest tag of each token, with the probabilities of all (softmax)."""
    found = []
    for scores in emissions:
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        found.append(Path(shares.argmax(axis=1).tolist(), shares.max(axis=1).tolist(), shares))
    return found


def best_paths(emissions: Sequence[Floats], steps: Floats, *, marginals: bool = False) -> list[Path]:
    """The best path of each (non-empty) sequence. `emissions`: one [tokens, tags] each; `steps` [from, to].

    `marginals`: whether the paths have the probabilities of all tags.
    """
    if not emissions:
        return []
    stack = _stacked(emissions)
    tags, shares = np.empty_like(stack.tokens), np.empty(stack.scores.shape)
    tags[stack.tokens] = _searched(stack, steps)
    shares[stack.tokens] = _probabilities(stack, steps)
    odds = shares[np.arange(len(tags)), tags]
    ends = np.cumsum([len(each) for each in emissions])[:-1]
    return [
        Path(own.tolist(), odds_of.tolist(), shares_of if marginals else None)
        for own, odds_of, shares_of in zip(*(np.split(each, ends) for each in (tags, odds, shares)), strict=True)
    ]


def best_tags(scores: Floats, steps: Floats) -> list[int]:
    """The tags of the best path of one (non-empty) sequence, without probabilities."""
    found: list[int] = _searched(_stacked([scores]), steps).tolist()
    return found


@dataclass(frozen=True, slots=True)
class PieceNote:
    """A note, the bounds of its pieces (first and past-the-last token), and the spans of an earlier stage, if any."""

    note: Note
    pieces: list[tuple[int, int]]
    earlier: Sequence[Span] = ()


class PathBackend(StreamingBackend):
    """A backend that finds the best path of each piece of a note, and has `tags`, the names of the tags."""

    tags: Sequence[str]
    decimals = DECIMALS
    """Decimal places of a confidence."""
    _source: str

    @abstractmethod
    def tagged(self, texts: Iterable[str], *, marginals: bool = False) -> Iterator[tuple[PieceNote, list[Path]]]:
        """The texts, each with the best paths of its pieces."""

    def predict_marginals(self, texts: Sequence[str]) -> list[Marked]:
        """The spans of each text, and the probabilities of the labels at its tokens."""
        found = []
        for read, paths in self.tagged(texts, marginals=True):
            shares = [path.marginals for path in paths if path.marginals is not None]
            rows = np.concatenate(shares) if shares else np.zeros((0, len(self.tags)))
            found.append((self.spans(read, paths), Marginals.of_tags(read.note.tokens, self.tags, rows)))
        return found

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, in order; some texts are read together."""
        return (self.spans(*each) for each in self.tagged(texts))

    def spans(self, read: PieceNote, paths: Sequence[Path]) -> list[Span]:
        """The note's spans, sorted."""
        found: list[Span] = []
        for (first, past), path in zip(read.pieces, paths, strict=True):
            tokens, tags = read.note.tokens[first:past], [self.tags[number] for number in path.tags]
            found += confident_spans(read.note.text, tokens, tags, path.odds, self._source, self.decimals)
        return sorted(found)


@dataclass(frozen=True, slots=True)
class _Stack:
    """Several sequences, longest first, as rows: the first token of each sequence, the second one of each, …

    `scores` [rows, tags]. `tokens`: the token of each row. `first[at]` and `going[at]`: the first row of the tokens
    with the index `at`, and their number.
    """

    scores: Floats
    tokens: Indexes
    first: list[int]
    going: list[int]

    def here(self, at: int) -> slice:
        """The rows of the tokens with this index."""
        return slice(self.first[at], self.first[at] + self.going[at])

    def before(self, at: int) -> slice:
        """The rows of the tokens before these."""
        return slice(self.first[at - 1], self.first[at - 1] + self.going[at])


def _stacked(emissions: Sequence[Floats]) -> _Stack:
    lengths = np.array([len(each) for each in emissions])
    order = np.argsort(-lengths, kind="stable")
    begins = (np.cumsum(lengths) - lengths)[order]
    lengths = lengths[order]
    going = np.searchsorted(-lengths, -np.arange(lengths[0]), side="left")
    first = np.cumsum(going) - going
    number = np.repeat(np.arange(len(order)), lengths)
    at = np.arange(len(number)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    tokens = np.empty_like(number)
    tokens[first[at] + number] = np.repeat(begins, lengths) + at
    return _Stack(np.concatenate(emissions)[tokens], tokens, first.tolist(), going.tolist())


def _searched(stack: _Stack, steps: Floats) -> Indexes:
    """Best tag of each row (Viterbi); of equal tags the first."""
    best = stack.scores.copy()
    steps = steps.astype(best.dtype)
    for at in range(1, len(stack.going)):
        best[stack.here(at)] += (best[stack.before(at), :, None] + steps).max(axis=1)
    found: Indexes = best.argmax(axis=1)
    for at in range(len(stack.going) - 1, 0, -1):
        before = stack.before(at)
        found[before] = (best[before] + steps.T[found[stack.here(at)]]).argmax(axis=1)
    return found


def _probabilities(stack: _Stack, steps: Floats) -> Floats:
    """The probabilities of all tags [rows, tags]: forward-backward, scaled at each token."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        states, ways = np.exp(stack.scores, dtype=np.float64), np.exp(steps, dtype=np.float64)
        forward, scale = states.copy(), np.ones((len(states), 1))
        for at in range(len(stack.going)):
            here = forward[stack.here(at)]
            if at:
                here *= forward[stack.before(at)] @ ways
            total = here.sum(axis=1, keepdims=True)
            own = scale[stack.here(at)]
            np.divide(1.0, total, out=own, where=total != 0)
            here *= own
        back, backward = np.ascontiguousarray(ways.T), np.repeat(scale, states.shape[1], axis=1)
        for at in range(len(stack.going) - 1, 0, -1):
            rows = stack.here(at)
            backward[stack.before(at)] *= (backward[rows] * states[rows]) @ back
        forward *= backward
        forward /= scale
    return forward
