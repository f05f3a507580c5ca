"""From scores of pieces to spans. Each token gets the tag of the piece in which it begins."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from annotations.text.bio import decode
from annotations.text.characters import trim
from annotations.text.spans import Span
from annotations.text.tokens import covered
from models_runtime.backends.marginals import Marginals, Marked
from models_runtime.backends.neural.device import OnDevice, Placement
from models_runtime.backends.neural.tags import Tags, best_path
from models_runtime.backends.token_classification.encoding import Encoded, Pieces
from models_runtime.backends.token_classification.scoring import Scorer

# Limits of a block of texts: enough texts for batches of similar length, few enough for memory.
BLOCK_TEXTS = 64
BLOCK_CHARACTERS = 400_000
# Decimal places of a confidence. Further places depend on the other items of the batch.
DECIMALS = 3


class Tagger:
    """Predicts spans. `columns` converts the network's log probabilities [pieces, its tags] to scores of `tags`, and
    `probabilities` to their probabilities.

    `decoding`: `path` for the best path that BIO allows, `argmax` for the likeliest tag of each token. `barred`: the
    scores of first tags and transitions, if they are not those of BIO.
    """

    def __init__(
        self,
        pieces: Pieces,
        scorer: Scorer,
        tags: Tags,
        columns: Any,
        source: str,
        decoding: str = "path",
        probabilities: Any = np.exp,
        barred: tuple[Any, Any] | None = None,
    ) -> None:
        self._pieces = pieces
        self._scorer = scorer
        self._tags = tags
        self._columns, self._probabilities = columns, probabilities
        self._source = source
        self._decoding = decoding
        self._barred = barred or tags.barred()

    @property
    def labels(self) -> frozenset[str]:
        return frozenset(name[2:] for name in self._tags.names[1:])

    def stream(self, texts: Iterable[str], placement: Placement) -> Iterator[list[Span]]:
        """The spans of each text, in order. Reads at most one block of texts ahead."""
        for spans, _, _ in self.scored(texts, placement):
            yield spans

    def scored(self, texts: Iterable[str], placement: Placement) -> Iterator[tuple[list[Span], Encoded, Any]]:
        """The spans of each text, its pieces, and their log probabilities [pieces, tags], as `stream`."""
        for block in _blocks(texts):
            encoded = [self._pieces.encode(text) for text in block]
            scores = self._scorer.scores(encoded, placement)
            for text, each, rows in zip(block, encoded, scores, strict=True):
                yield self._spans(text, each, rows), each, rows

    def marginals(self, texts: Iterable[str], placement: Placement) -> Iterator[Marked]:
        """The spans of each text, and the probabilities (softmax) of the labels at its tokens."""
        for spans, encoded, rows in self.scored(texts, placement):
            shares = self._probabilities(rows[encoded.first]) if encoded.tokens else []
            yield spans, Marginals.of_tags(encoded.tokens, self._tags.names, shares)

    def _scores(self, encoded: Encoded, rows: Any) -> Any:
        """The log probabilities [tokens, tags]."""
        return _shared(self._columns(rows[encoded.first]), encoded.first, self._tags)

    def _spans(self, text: str, encoded: Encoded, rows: Any) -> list[Span]:
        if not encoded.tokens:
            return []
        scores = self._scores(encoded, rows)
        path = scores.argmax(axis=1) if self._decoding == "argmax" else _likeliest(scores, *self._barred)
        probabilities = np.exp(scores[np.arange(len(path)), path])
        found = []
        for span in decode(encoded.tokens, [self._tags.names[tag] for tag in path]):
            start, end = trim(text, span.start, span.end)
            if start < end:
                least = float(probabilities[slice(*covered(encoded.tokens, span.start, span.end))].min())
                found.append(Span(start, end, span.label, round(min(least, 1.0), DECIMALS), self._source))
        return sorted(found)


def _likeliest(scores: Any, first: Any, steps: Any) -> list[int]:
    """The best path of valid tags. Fast case: if the likeliest tags form a valid path, it is the best one."""
    alone = scores.argmax(axis=1)
    if not first[alone[0]] and not steps[alone[:-1], alone[1:]].any():
        return [int(tag) for tag in alone]
    return best_path(scores, first, steps)


def _shared(scores: Any, first: Sequence[int], tags: Tags) -> Any:
    """Scores for tokens that share a piece (`12mg`): a later token can only continue a span, not begin one."""
    again = np.flatnonzero(np.diff(first) == 0) + 1
    if not len(again):
        return scores
    scores = scores.copy()
    begins = np.array([at for at, name in enumerate(tags.names) if name.startswith("B-")], dtype=np.intp)
    scores[np.ix_(again, begins + 1)] = np.logaddexp(scores[np.ix_(again, begins)], scores[np.ix_(again, begins + 1)])
    scores[np.ix_(again, begins)] = -np.inf
    return scores


def _blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    block: list[str] = []
    characters = 0
    for text in texts:
        if block and (len(block) == BLOCK_TEXTS or characters + len(text) > BLOCK_CHARACTERS):
            yield block
            block, characters = [], 0
        block.append(text)
        characters += len(text)
    if block:
        yield block


class TaggerBackend(OnDevice):
    """A backend that predicts with a `_tagger`."""

    _tagger: Tagger

    def predict_marginals(self, texts: Sequence[str]) -> list[Marked]:
        """The spans of each text, and the probabilities of the labels at its tokens."""
        return list(self._tagger.marginals(texts, self.placement))

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, in order, computed in blocks of texts."""
        return self._tagger.stream(texts, self.placement)
