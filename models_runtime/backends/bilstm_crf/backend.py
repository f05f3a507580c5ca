"""The BiLSTM-CRF backend: predicts spans with a model that was trained here."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from annotations.domain.spans import Span
from models_runtime.backends.bilstm_crf.encoding import Item, NoteEncoder, confident_spans, no_context
from models_runtime.backends.bilstm_crf.model import load_model
from models_runtime.backends.bilstm_crf.network import batch
from models_runtime.backends.marginals import Marginals, Marked
from models_runtime.backends.neural.device import Device, Placement, choose_device
from models_runtime.backends.notes.note import Note
from models_runtime.backends.notes.rule_tags import rules_of

VERSION: Final = "1"


class BiLstmCrfBackend:
    """Predicts with the model at `path`. Raises BackendError (permanent) for any other file."""

    name = "bilstm-crf"

    def __init__(self, path: str, device: str = "auto") -> None:
        model = load_model(Path(path))
        rules = rules_of(model.card.rules_set)
        self._network = model.network
        self._vocabulary, self._tags = model.vocabulary, model.tags
        characters = model.characters
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
        return [self._marked(text) for text in texts]

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, one text at a time."""
        return map(self._spans_of, texts)

    def _spans_of(self, text: str) -> list[Span]:
        return self._read(text)[0]

    def _marked(self, text: str) -> Marked:
        spans, note, rows = self._read(text, every=True)
        every = np.concatenate(rows) if rows else np.zeros((0, len(self._tags)))
        return spans, Marginals.of_tags(note.tokens, self._tags.names, every)

    def _read(self, text: str, *, every: bool = False) -> tuple[list[Span], Note, list[Any]]:
        """The spans, the note, and with `every` the probabilities of all tags [tokens, tags] of its sequences."""
        note, tags = self._encoder.rule_tags(text)
        items = self._encoder.items(note, tags, self._vocabulary)
        paths: list[list[int]] = [[]] * len(items)
        probabilities: list[list[float]] = [[]] * len(items)
        whole: list[Any] = [None] * len(items)

        def tag(numbers: Sequence[int]) -> None:
            found = self._tagged([items[at] for at in numbers], every=every)
            for at, path, chosen, rows in zip(numbers, *found, strict=True):
                paths[at], probabilities[at], whole[at] = path, chosen, rows

        self.placement.each([len(item) for item in items], tag)
        flat = [value for row in probabilities for value in row]
        return confident_spans(note, items, paths, flat, self._tags, self._source), note, whole

    def _tagged(self, items: Sequence[Item], *, every: bool) -> tuple[list[list[int]], list[list[float]], list[Any]]:
        """The best tags of each item, their marginal probabilities, and with `every` those of all tags."""
        shown = batch([item.rows for item in items], self.device.name)
        lengths = [len(item) for item in items]
        with torch.no_grad(), self.device.precision():
            scores = self._network(shown).float()
        paths = self._network.crf.paths(scores, lengths)
        if not every and not any(any(path) for path in paths):  # All tags are O, so no probabilities are needed.
            return paths, [[1.0] * length for length in lengths], [None] * len(items)
        marginals = self._network.crf.marginals(scores, shown["mask"]).cpu().numpy()
        rows = [row[:length] for row, length in zip(marginals, lengths, strict=True)]
        return paths, [row[range(len(path)), path].tolist() for row, path in zip(rows, paths, strict=True)], rows
