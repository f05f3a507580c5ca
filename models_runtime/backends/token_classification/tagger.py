"""From scores of pieces to spans. Each token gets the tag of the piece in which it begins."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch

from annotations.text.spans import Span
from models_runtime.backends.base import BackendError, blocks
from models_runtime.backends.marginals import Marginals, Marked, confident_spans
from models_runtime.backends.neural.crf import Tags, best_path
from models_runtime.backends.neural.device import Device, OnDevice, Placement, Window, chunks, windows
from models_runtime.backends.neural.learning import IGNORED
from models_runtime.backends.token_classification.encoding import EncodedText, Pieces

# Compute a transformer's scores for each piece of texts, in windows and batches of similar length.


# Number of pieces that neighboring windows share. Each piece has at least half as many pieces of context.
OVERLAP: Final = 128


class Scorer:
    """Computes scores. `most`: pieces in a window, special pieces included. `pad`: the id of the padding piece.

    `disjoint`: read disjoint chunks instead of overlapping windows.
    """

    def __init__(
        self, network: Any, around: tuple[list[int], list[int]], *, most: int, pad: int, disjoint: bool = False
    ) -> None:
        self._network = network
        self._before, self._after = around
        # The pieces of a window without the special ones, and the number of special ones before it.
        self.room, self.lead = most - len(self._before) - len(self._after), len(self._before)
        self._overlap = min(OVERLAP, self.room // 4)
        self._pad = pad
        self._disjoint = disjoint

    def windows(self, encoded: EncodedText) -> list[Window]:
        """The windows of each part of the text, in order."""
        parts = encoded.parts or [(0, len(encoded.pieces))]
        return [window.moved(start) for start, past in parts for window in self.cut(past - start)]

    def cut(self, count: int) -> list[Window]:
        """The windows over `count` pieces."""
        return chunks(count, self.room) if self._disjoint else windows(count, self.room, self._overlap)

    def scores(self, texts: Sequence[EncodedText], placement: Placement) -> list[Any]:
        """Log probabilities [pieces, tags] of each text, float32. Raises BackendError if a piece has no scores."""
        work = [(number, window) for number, text in enumerate(texts) for window in self.windows(text)]
        rows: list[Any] = [None] * len(texts)

        def read(batch: Sequence[int]) -> None:
            shown = [(work[at][1], texts[work[at][0]]) for at in batch]
            for at, scores in zip(batch, self._batch(shown, placement.device), strict=True):
                number, window = work[at]
                if rows[number] is None:
                    rows[number] = np.full((len(texts[number].pieces), scores.shape[1]), np.nan, dtype=np.float32)
                inside = scores[window.kept - window.start : window.kept_past - window.start]
                rows[number][window.kept : window.kept_past] = inside

        placement.each([len(window) for _, window in work], read)
        for scores in rows:
            if scores is not None and np.isnan(scores).any():
                raise BackendError("Some of the text has no scores: no window contains it, or the weights are damaged.")
        return [np.zeros((0, 1), dtype=np.float32) if scores is None else scores for scores in rows]

    def _batch(self, shown: Sequence[tuple[Window, EncodedText]], device: Device) -> list[Any]:
        with torch.inference_mode(), device.precision():
            found = self._network(**self.inputs(shown, device)).logits
        scores = torch.log_softmax(found.float(), dim=-1).cpu().numpy()
        return [row[self.lead : self.lead + len(window)] for row, (window, _) in zip(scores, shown, strict=True)]

    def inputs(self, shown: Sequence[tuple[Window, EncodedText]], device: Device) -> dict[str, Any]:
        """The network's input: pieces with special pieces and padding [windows, pieces], and the attention mask."""
        lead = self.lead
        lengths = np.array([lead + len(window) + len(self._after) for window, _ in shown])
        pieces = np.full((len(shown), lengths.max()), self._pad, dtype=np.int64)
        for row, (window, text), length in zip(pieces, shown, lengths, strict=True):
            row[:lead] = self._before
            row[lead : lead + len(window)] = text.pieces[window.start : window.past]
            row[lead + len(window) : length] = self._after
        mask = np.arange(pieces.shape[1]) < lengths[:, None]
        return {
            "input_ids": torch.from_numpy(pieces).to(device.name),
            "attention_mask": torch.from_numpy(mask.astype(np.int64)).to(device.name),
        }

    def targets(self, shown: Sequence[tuple[Window, Sequence[int]]], device: Device) -> Any:
        """Targets for `inputs` of the same windows: tags of the pieces that a window predicts, otherwise IGNORED."""
        width = max(len(window) for window, _ in shown) + self.lead + len(self._after)
        found = torch.full((len(shown), width), IGNORED)
        for row, (window, tags) in zip(found, shown, strict=True):
            at = self.lead + window.kept - window.start
            row[at : at + window.kept_past - window.kept] = torch.tensor(tags[window.kept : window.kept_past])
        return found.to(device.name)


# Limits of a block of texts: enough texts for batches of similar length, few enough for memory.
BLOCK_TEXTS = 64
BLOCK_CHARACTERS = 400_000
# Decimal places of a confidence. Further places depend on the other items of the batch.
DECIMALS = 3


@dataclass
class Tagger:
    """Predicts spans. `columns` converts the network's log probabilities [pieces, its tags] to scores of `tags`, and
    `probabilities` to their probabilities.

    `decoding`: `path` for the best path that BIO allows, `argmax` for the likeliest tag of each token. `barred`: the
    scores of first tags and transitions, if they are not those of BIO.
    """

    pieces: Pieces
    scorer: Scorer
    tags: Tags
    columns: Callable[[Any], Any]
    source: str
    decoding: str = "path"
    probabilities: Callable[[Any], Any] = np.exp
    barred: tuple[Any, Any] = ()  # type: ignore[assignment]  # set below

    def __post_init__(self) -> None:
        self.barred = self.barred or self.tags.barred()

    @property
    def labels(self) -> frozenset[str]:
        return frozenset(name[2:] for name in self.tags.names[1:])

    def stream(self, texts: Iterable[str], placement: Placement) -> Iterator[list[Span]]:
        """The spans of each text, in order. Reads at most one block of texts ahead."""
        for spans, _, _ in self.scored(texts, placement):
            yield spans

    def scored(self, texts: Iterable[str], placement: Placement) -> Iterator[tuple[list[Span], EncodedText, Any]]:
        """The spans of each text, its pieces, and their log probabilities [pieces, tags], as `stream`."""
        for block in blocks(texts, BLOCK_TEXTS, BLOCK_CHARACTERS, len):
            encoded = [self.pieces.encode(text) for text in block]
            scores = self.scorer.scores(encoded, placement)
            for text, each, rows in zip(block, encoded, scores, strict=True):
                yield self._spans(text, each, rows), each, rows

    def marginals(self, texts: Iterable[str], placement: Placement) -> Iterator[Marked]:
        """The spans of each text, and the probabilities (softmax) of the labels at its tokens."""
        for spans, encoded, rows in self.scored(texts, placement):
            shares = self.probabilities(rows[encoded.first]) if encoded.tokens else []
            yield spans, Marginals.of_tags(encoded.tokens, self.tags.names, shares)

    def _spans(self, text: str, encoded: EncodedText, rows: Any) -> list[Span]:
        if not encoded.tokens:
            return []
        scores = _shared(self.columns(rows[encoded.first]), encoded.first, self.tags)
        path = scores.argmax(axis=1) if self.decoding == "argmax" else _likeliest(scores, *self.barred)
        probabilities = np.exp(scores[np.arange(len(path)), path])
        tags = [self.tags.names[tag] for tag in path]
        return sorted(confident_spans(text, encoded.tokens, tags, probabilities, self.source, DECIMALS))


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


class TaggerBackend(OnDevice):
    """A backend that predicts with a `_tagger`."""

    _tagger: Tagger

    def predict_marginals(self, texts: Sequence[str]) -> list[Marked]:
        """The spans of each text, and the probabilities of the labels at its tokens."""
        return list(self._tagger.marginals(texts, self.placement))

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, in order, computed in blocks of texts."""
        return self._tagger.stream(texts, self.placement)
