"""The backend of a BiLSTM-CRF with stacked embeddings: predicts spans with a model that was trained here."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from annotations.text.spans import Span
from models_runtime.backends.bilstm_crf.encoding import confident_spans
from models_runtime.backends.marginals import Marginals, Marked
from models_runtime.backends.neural.device import Device, Placement, choose_device
from models_runtime.backends.notes.grouping import groups
from models_runtime.backends.notes.note import Note, read
from models_runtime.backends.stacked.embeddings import Embedding, Stack, Words, with_file
from models_runtime.backends.stacked.model import load_model
from models_runtime.backends.stacked.network import batch

VERSION: Final = "1"


class StackedBackend:
    """Predicts with the model at `path`. `embeddings`: the folder of word vectors on this machine; empty without one.

    Without the file of its word vectors, the model knows only the words that it keeps; the revision then names the
    file. Raises BackendError (permanent) for a file that is no such model.
    """

    name = "bilstm-crf-stacked"

    def __init__(self, path: str, embeddings: str = "", device: str = "auto") -> None:
        model = load_model(Path(path))
        self._network, self._tags, self._grouped = model.network, model.tags, model.card.grouped
        folder, lacking = Path(embeddings) if embeddings else None, []
        parts: list[Embedding] = []
        for part in model.stack.parts:
            if isinstance(part, Words):
                part, why = with_file(part, folder)
                lacking += [f"{part.source.name} {why}"] if why else []
            parts.append(part)
        self._stack = Stack(parts)
        self.placement = Placement(choose_device(device), self._network, *self._stack.networks)
        self.label_set = model.card.label_set
        self.labels = model.card.labels
        self._source = f"bilstm-crf-stacked-{model.revision[:8]}"
        self.revision = "-".join([VERSION, model.revision, *lacking])

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
        note = read(text)
        parts = groups(note, self._grouped)
        vectors = self._stack.vectors(note, parts, self.placement)
        items = [_Part(first, past) for first, past in parts]
        paths: list[list[int]] = [[]] * len(items)
        probabilities: list[list[float]] = [[]] * len(items)
        whole: list[Any] = [None] * len(items)

        def tag(numbers: Sequence[int]) -> None:
            found = self._tagged([vectors[items[at].first : items[at].past] for at in numbers], every=every)
            for at, path, chosen, rows in zip(numbers, *found, strict=True):
                paths[at], probabilities[at], whole[at] = path, chosen, rows

        self.placement.each([part.past - part.first for part in items], tag)
        flat = [value for row in probabilities for value in row]
        return confident_spans(text, note.tokens, items, paths, flat, self._tags, self._source), note, whole

    def _tagged(self, items: Sequence[Any], *, every: bool) -> tuple[list[list[int]], list[list[float]], list[Any]]:
        """The best tags of each item, their marginal probabilities, and with `every` those of all tags."""
        shown = batch(items, self.device.name)
        lengths = [len(item) for item in items]
        with torch.no_grad(), self.device.precision():
            scores = self._network(shown).float()
        paths = self._network.paths(scores, lengths)
        if not every and not any(any(path) for path in paths):  # All tags are O, so no probabilities are needed.
            return paths, [[1.0] * length for length in lengths], [None] * len(items)
        marginals = self._network.marginals(scores, shown["mask"]).cpu().numpy()
        rows = [row[:length] for row, length in zip(marginals, lengths, strict=True)]
        return paths, [row[range(len(path)), path].tolist() for row, path in zip(rows, paths, strict=True)], rows


class _Part:
    def __init__(self, first: int, past: int) -> None:
        self.first, self.past = first, past
