"""The BiLSTM-CRF as a backend: a model that was trained here reads notes."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import torch

from annotations.domain.spans import Span
from annotations.domain.tokens import covered
from annotations.domain.whitespace import trim
from models_runtime.backends.bilstm_crf.model import load_model
from models_runtime.backends.bilstm_crf.network import batch
from models_runtime.backends.bilstm_crf.reading import Item, Reader, no_context, spans_of
from models_runtime.backends.neural.device import Device, Seat, chosen
from models_runtime.backends.notes.note import Note
from models_runtime.backends.notes.said import rules_for

VERSION: Final = "1"
# Places of a confidence: what differs beyond depends on what else was in the batch.
PLACES: Final = 3


class BiLstmCrfBackend:
    """Reads with the model at `path`. Raises BackendError (permanent) where that is no BiLSTM-CRF of ours."""

    name = "bilstm-crf"

    def __init__(self, path: str, device: str = "auto") -> None:
        model = load_model(Path(path))
        rules = rules_for(model.card.rules_set)
        self._network = model.network
        self._vocabulary, self._tags = model.vocabulary, model.tags
        characters = model.characters
        self.seat = Seat(chosen(device), self._network, *([characters] if characters else []))
        context = partial(characters.vectors, seat=self.seat) if characters else no_context
        self._reader = Reader(rules, model.lexicon, model.card.grouped, context)
        self.label_set = model.card.label_set
        self.labels = model.card.labels
        self._source = f"bilstm-crf-{model.revision[:8]}"
        self.revision = f"{VERSION}-{model.revision}-{rules.revision}"

    @property
    def device(self) -> Device:
        """Where it computes now."""
        return self.seat.device

    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        """The spans of each text: sorted, trimmed, none overlapping another."""
        return list(self.stream(texts))

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text as it comes."""
        return map(self._read, texts)

    def _read(self, text: str) -> list[Span]:
        note, said = self._reader.said(text)
        items = self._reader.items(note, said, self._vocabulary)
        paths: list[list[int]] = [[]] * len(items)
        sure: list[Any] = [None] * len(items)

        def tag(numbers: Sequence[int]) -> None:
            found = self._tagged([items[number] for number in numbers])
            for number, path, marginals in zip(numbers, *found, strict=True):
                paths[number] = path
                sure[number] = marginals

        self.seat.each([len(item) for item in items], tag)
        return self._spans(note, items, paths, [chance for row in sure for chance in row])

    def _tagged(self, items: Sequence[Item]) -> tuple[list[list[int]], list[list[float]]]:
        """For each item its best tags, and the probability of each of them."""
        shown = batch([item.rows for item in items], self.device.name)
        lengths = [len(item) for item in items]
        with torch.no_grad(), self.device.precise():
            scores = self._network(shown).float()
        paths = self._network.crf.paths(scores, lengths)
        if not any(any(path) for path in paths):  # nothing but O: nothing to be sure of
            return paths, [[1.0] * length for length in lengths]
        marginals = self._network.crf.marginals(scores, shown["mask"]).cpu().numpy()
        return paths, [row[range(len(path)), path].tolist() for row, path in zip(marginals, paths, strict=True)]

    def _spans(
        self, note: Note, items: Sequence[Item], paths: Sequence[Sequence[int]], sure: Sequence[float]
    ) -> list[Span]:
        """Each as sure as its least sure token (the marginal of the tag that it got)."""
        found = []
        for span in spans_of(note, items, paths, self._tags):
            least = min(sure[slice(*covered(note.tokens, span.start, span.end))])
            start, end = trim(note.text, span.start, span.end)
            if start < end:
                found.append(Span(start, end, span.label, round(min(max(least, 0.0), 1.0), PLACES), self._source))
        return sorted(found)
