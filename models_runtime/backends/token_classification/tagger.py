"""From scores of pieces to spans: our tokens take the tag of the piece in which they begin, on the best path."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from annotations.domain.bio import decode
from annotations.domain.spans import Span
from annotations.domain.tokens import covered
from annotations.domain.whitespace import trim
from models_runtime.backends.neural.device import Seat
from models_runtime.backends.neural.tags import Tags, best_path
from models_runtime.backends.token_classification.encoding import Encoded, Pieces
from models_runtime.backends.token_classification.reading import Reader

# A long run is read in blocks: enough texts to fill batches of even length, few enough to hold in memory.
BLOCK_TEXTS = 64
BLOCK_CHARACTERS = 400_000
# Places of a confidence: what differs beyond depends on what else was in the batch.
PLACES = 3


class Tagger:
    """`columns` turns the network's log-probabilities [pieces, its tags] into those of `tags`."""

    def __init__(self, pieces: Pieces, reader: Reader, tags: Tags, columns: Any, source: str) -> None:
        self._pieces = pieces
        self._reader = reader
        self._tags = tags
        self._columns = columns
        self._source = source
        self._barred = tags.barred()

    def stream(self, texts: Iterable[str], seat: Seat) -> Iterator[list[Span]]:
        """The spans of each text, in order; reads one block ahead at most."""
        for block in _blocks(texts):
            encoded = [self._pieces.encode(text) for text in block]
            scores = self._reader.scores(encoded, seat)
            for text, each, rows in zip(block, encoded, scores, strict=True):
                yield self._spans(text, each, rows)

    def _spans(self, text: str, encoded: Encoded, rows: Any) -> list[Span]:
        if not encoded.tokens:
            return []
        scores = _shared(self._columns(rows[encoded.first]), encoded.first, self._tags)
        path = _likeliest(scores, *self._barred)
        sure = np.exp(scores[np.arange(len(path)), path])
        found = []
        for span in decode(encoded.tokens, [self._tags.names[tag] for tag in path]):
            start, end = trim(text, span.start, span.end)
            if start < end:
                least = float(sure[slice(*covered(encoded.tokens, span.start, span.end))].min())
                found.append(Span(start, end, span.label, round(min(least, 1.0), PLACES), self._source))
        return sorted(found)


def _likeliest(scores: Any, first: Any, steps: Any) -> list[int]:
    """The best path where transitions are free or barred: each token's likeliest tag, where nothing bars these."""
    alone = scores.argmax(axis=1)
    if not first[alone[0]] and not steps[alone[:-1], alone[1:]].any():
        return [int(tag) for tag in alone]
    return best_path(scores, first, steps)


def _shared(scores: Any, first: Sequence[int], tags: Tags) -> Any:
    """Two of our tokens in one piece (`12mg`): the second one goes on with what the first began."""
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
