"""The BiLSTM-CRF backend: predicts spans with a model that was trained here."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import torch

from annotations.domain.spans import Span
from models_runtime.backends.bilstm_crf.encoding import Item, NoteEncoder, confident_spans, no_context
from models_runtime.backends.bilstm_crf.model import load_model
from models_runtime.backends.bilstm_crf.network import batch
from models_runtime.backends.neural.device import Device, Placement, choose_device
from models_runtime.backends.notes.rule_tags import rules_for

VERSION: Final = "1"


class BiLstmCrfBackend:
    """Predicts with the model at `path`. Raises BackendError (permanent) for any other file."""

    name = "bilstm-crf"

    def __init__(self, path: str, device: str = "auto") -> None:
        model = load_model(Path(path))
        rules = rules_for(model.card.rules_set)
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

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, one text at a time."""
        return map(self._spans_of, texts)

    def _spans_of(self, text: str) -> list[Span]:
        note, tags = self._encoder.rule_tags(text)
        items = self._encoder.items(note, tags, self._vocabulary)
        paths: list[list[int]] = [[]] * len(items)
        probabilities: list[Any] = [None] * len(items)

        def tag(numbers: Sequence[int]) -> None:
            found = self._tagged([items[number] for number in numbers])
            for number, path, marginals in zip(numbers, *found, strict=True):
                paths[number] = path
                probabilities[number] = marginals

        self.placement.each([len(item) for item in items], tag)
        flat = [value for row in probabilities for value in row]
        return confident_spans(note, items, paths, flat, self._tags, self._source)

    def _tagged(self, items: Sequence[Item]) -> tuple[list[list[int]], list[list[float]]]:
        """The best tags of each item, and their marginal probabilities."""
        shown = batch([item.rows for item in items], self.device.name)
        lengths = [len(item) for item in items]
        with torch.no_grad(), self.device.precision():
            scores = self._network(shown).float()
        paths = self._network.crf.paths(scores, lengths)
        if not any(any(path) for path in paths):  # All tags are O, so no probabilities are needed.
            return paths, [[1.0] * length for length in lengths]
        marginals = self._network.crf.marginals(scores, shown["mask"]).cpu().numpy()
        return paths, [row[range(len(path)), path].tolist() for row, path in zip(marginals, paths, strict=True)]
