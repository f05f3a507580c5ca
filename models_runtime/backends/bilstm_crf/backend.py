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
from models_runtime.backends.bilstm_crf.embeddings import Embedding, Stack, Words, with_file
from models_runtime.backends.bilstm_crf.encoding import Item, NoteEncoder, confident_spans
from models_runtime.backends.bilstm_crf.fast_scores import FastScores
from models_runtime.backends.bilstm_crf.model import load_model
from models_runtime.backends.bilstm_crf.vocabulary import Rows
from models_runtime.backends.crf.paths import Path as TagPath
from models_runtime.backends.marginals import Marginals, Marked
from models_runtime.backends.neural.device import OnDevice, Placement, choose_device
from models_runtime.backends.notes.arrays import bounds_of
from models_runtime.backends.notes.rule_tags import rules_of

VERSION: Final = "1"
# Notes or tokens that are read together; the vectors of embeddings are too large for more than one note.
NOTES: Final = 64
TOKENS: Final = 32_768
# On a CPU, a batch holds this many times the tokens that the network itself could hold, since a token takes less memory
# here. The process takes 43 MB more than with 32 notes and half of this.
LIGHT: Final = 8


@dataclass(slots=True)
class _Read:
    """A note with its items, and the path of each item once it is known. `bounds`: see bounds_of."""

    text: str
    bounds: NDArray[np.int64]
    items: list[Item]
    paths: list[TagPath] = field(default_factory=list)


class BiLstmCrfBackend(OnDevice):
    """Predicts with the model at `path`. `embeddings`: the folder of word vectors on this machine; empty without one.

    Without the file of its word vectors, the model knows only the words that it keeps; the revision then names the
    file. Raises BackendError (permanent) for a file that is no such model.
    """

    def __init__(self, path: str, embeddings: str = "", device: str = "auto") -> None:
        model = load_model(Path(path))
        self.name = "bilstm-crf" if model.vocabulary else "bilstm-crf-stacked"
        rules = rules_of(model.card.rules_set) if model.card.rules_set is not None else None
        self._network = model.network
        self._vocabulary, self._tags = model.vocabulary, model.tags
        one_layer = self._network.reprojection is None and len(self._network.onward) == 1
        self._can_be_fast = model.vocabulary is not None and one_layer
        self._fast: FastScores | None = None
        self._stack, lacking = _with_files(model.stack, Path(embeddings) if embeddings else None)
        self.placement = Placement(choose_device(device), self._network, *self._stack.networks)
        vectors = partial(self._stack.vectors, placement=self.placement)
        self._encoder = NoteEncoder(rules, model.lexicon, model.card.grouped, vectors)
        self.label_set = model.card.label_set
        self.labels = model.card.labels
        self._source = f"{self.name}-{model.revision[:8]}"
        self.revision = "-".join([VERSION, model.revision, *([rules.revision] if rules else []), *lacking])

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
        tokens, together = 0, NOTES if self._vocabulary else 1
        for text in texts:
            note, tags = self._encoder.rule_tags(text)
            items = self._encoder.items(note, tags, self._vocabulary)
            waiting.append(_Read(text, bounds_of(note.tokens), items))
            tokens += len(note.tokens)
            if len(waiting) == together or tokens >= TOKENS:
                yield from self._tagged(waiting, every=every)
                waiting, tokens = [], 0
        yield from self._tagged(waiting, every=every)

    def _tagged(self, notes: Sequence[_Read], *, every: bool) -> Sequence[_Read]:
        """The notes with the paths of their items, which are added here."""
        items = [item for note in notes for item in note.items]
        paths: list[Any] = [None] * len(items)

        def tag(numbers: Sequence[int]) -> None:
            scores = self._scores([items[at].rows for at in numbers])
            found = self._network.paths(scores, marginals=every)
            for at, path in zip(numbers, found, strict=True):
                paths[at] = path

        light = LIGHT if self._can_be_fast and not self.device.is_gpu else 1
        self.placement.each([len(item) for item in items], tag, light=light)
        left = iter(paths)
        for note in notes:
            note.paths = list(islice(left, len(note.items)))
        return notes

    def _scores(self, items: Sequence[Rows]) -> Iterable[Any]:
        """Scores [tokens, tags] of each item."""
        if self._can_be_fast and not self.device.is_gpu and self.device.dtype == torch.float32:
            self._fast = self._fast or FastScores(self._network)
            return self._fast.of(items)
        with self.device.precision():
            return self._network.scores(items, self.device.name)


def _with_files(stack: Stack, folder: Path | None) -> tuple[Stack, list[str]]:
    """The embeddings with the files of their words from the folder, and what is wrong with files."""
    parts: list[Embedding] = []
    lacking = []
    for part in stack.parts:
        if isinstance(part, Words):
            part, why = with_file(part, folder)
            lacking += [f"{part.source.name} {why}"] if why else []
        parts.append(part)
    return Stack(parts), lacking
