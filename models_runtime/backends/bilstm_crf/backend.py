"""The BiLSTM-CRF backend: predicts spans with a model that was trained here."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from annotations.text.spans import Span
from annotations.text.tokens import tokens_at
from models_runtime.backends.bilstm_crf.encoding import Item, NoteEncoder, confident_spans, no_context
from models_runtime.backends.bilstm_crf.fast_scores import FastScores
from models_runtime.backends.bilstm_crf.model import load_model
from models_runtime.backends.bilstm_crf.network import batch
from models_runtime.backends.bilstm_crf.vocabulary import Rows
from models_runtime.backends.crf.paths import Path as TagPath
from models_runtime.backends.crf.paths import best_paths
from models_runtime.backends.marginals import Marginals, Marked
from models_runtime.backends.neural.device import Device, Placement, choose_device
from models_runtime.backends.notes.arrays import bounds_of
from models_runtime.backends.notes.rule_tags import rules_of

VERSION: Final = "1"
# Notes or tokens that are read together.
NOTES: Final = 64
TOKENS: Final = 32_768
# On a CPU, a batch holds this many times the tokens that the network itself could hold, since a token takes less memory
# here. The process takes 43 MB more than with 32 notes and half of this.
LIGHT: Final = 8
OUTSIDE: Final = 0
"""The number of the tag O (see Tags)."""


@dataclass(slots=True)
class _Read:
    """A note with its items, and the path of each item once it is known. `bounds`: see bounds_of."""

    text: str
    bounds: NDArray[np.int64]
    items: list[Item]
    paths: list[TagPath] = field(default_factory=list)


class BiLstmCrfBackend:
    """Predicts with the model at `path`. Raises BackendError (permanent) for any other file."""

    name = "bilstm-crf"

    def __init__(self, path: str, device: str = "auto") -> None:
        model = load_model(Path(path))
        rules = rules_of(model.card.rules_set)
        self._network = model.network
        self._vocabulary, self._tags = model.vocabulary, model.tags
        characters = model.characters
        self._fast: FastScores | None = None
        self.placement = Placement(choose_device(device), self._network, *([characters] if characters else []))
        context = partial(characters.vectors, placement=self.placement) if characters else no_context
        self._encoder = NoteEncoder(rules, model.lexicon, model.card.grouped, context)
        self.label_set = model.card.label_set
        self.labels = model.card.labels
        self._source = f"bilstm-crf-{model.revision[:8]}"
        self.revision = f"{VERSION}-{model.revision}-{rules.revision}"

    @property
    def device(self) -> Device:
        """The device that it computes on at present."""
        return self.placement.device

    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        """The spans of each text: sorted, trimmed, without overlaps."""
        return list(self.stream(texts))

    def predict_marginals(self, texts: Sequence[str]) -> list[Marked]:
        """The spans of each text, and the probabilities of the labels at its tokens."""
        return [self._marked(note) for note in self._notes(texts, every=True)]

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, in order; up to NOTES texts are read together."""
        return map(self._spans, self._notes(texts, every=False))

    def _spans(self, read: _Read) -> list[Span]:
        flat = [value for path in read.paths for value in path.odds]
        tags = [path.tags for path in read.paths]
        tokens = tokens_at(read.bounds.tolist())
        return confident_spans(read.text, tokens, read.items, tags, flat, self._tags, self._source)

    def _marked(self, read: _Read) -> Marked:
        rows = [path.marginals for path in read.paths if path.marginals is not None]
        every = np.concatenate(rows) if rows else np.zeros((0, len(self._tags)))
        tokens = tokens_at(read.bounds.tolist())
        return self._spans(read), Marginals.of_tags(tokens, self._tags.names, every)

    def _notes(self, texts: Iterable[str], *, every: bool) -> Iterator[_Read]:
        """The texts with the best paths of their items, and with `every` the probabilities of all tags."""
        waiting: list[_Read] = []
        tokens = 0
        for text in texts:
            note, tags = self._encoder.rule_tags(text)
            items = self._encoder.items(note, tags, self._vocabulary)
            waiting.append(_Read(text, bounds_of(note.tokens), items))
            tokens += len(note.tokens)
            if len(waiting) == NOTES or tokens >= TOKENS:
                yield from self._tagged(waiting, every=every)
                waiting, tokens = [], 0
        yield from self._tagged(waiting, every=every)

    def _tagged(self, notes: Sequence[_Read], *, every: bool) -> Sequence[_Read]:
        """The notes with the paths of their items, which are added here."""
        items = [item for note in notes for item in note.items]
        paths: list[Any] = [None] * len(items)

        def tag(numbers: Sequence[int]) -> None:
            scores, steps = self._network.crf.as_scores(self._scores([items[at].rows for at in numbers]))
            for at, path in zip(numbers, best_paths(scores, steps, marginals=every, outside=OUTSIDE), strict=True):
                paths[at] = path

        self.placement.each([len(item) for item in items], tag, light=1 if self.device.is_gpu else LIGHT)
        left = iter(paths)
        for note in notes:
            note.paths = list(islice(left, len(note.items)))
        return notes

    def _scores(self, items: Sequence[Rows]) -> Iterable[Any]:
        """Scores [tokens, tags] of each item."""
        if not self.device.is_gpu and self.device.dtype == torch.float32:
            self._fast = self._fast or FastScores(self._network)
            return self._fast.of(items)
        shown = batch(items, self.device.name)
        with torch.inference_mode(), self.device.precision():
            scores = self._network(shown).float().cpu().numpy()
        return [row[: len(item.columns)] for row, item in zip(scores, items, strict=True)]
