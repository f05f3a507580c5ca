"""The BiLSTM-CRF backend: predicts spans with a model that was trained here."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np

from annotations.text.spans import Span
from models_runtime.backends.base import blocks
from models_runtime.backends.bilstm_crf.embeddings import Embedding, Stack, Words, with_file
from models_runtime.backends.bilstm_crf.inputs import Item, NoteEncoder
from models_runtime.backends.bilstm_crf.model import load_model
from models_runtime.backends.crf.paths import Path as TagPath
from models_runtime.backends.marginals import Marginals, Marked, confident_spans
from models_runtime.backends.neural.device import OnDevice, Placement, choose_device
from models_runtime.backends.notes import Note
from models_runtime.backends.rule_tags import rules_of

VERSION: Final = "1"
# Notes or tokens that are read together; the vectors of embeddings are too large for more than one note.
NOTES: Final = 64
TOKENS: Final = 32_768
# Decimal places of a confidence. Further places depend on the other items of the batch.
DECIMALS: Final = 3


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
        found = []
        for note, items, paths in self._tagged(texts, marginals=True):
            rows = [path.marginals for path in paths if path.marginals is not None]
            every = np.concatenate(rows) if rows else np.zeros((0, len(self._tags)))
            marginals = Marginals.of_tags(note.tokens, self._tags.names, every)
            found.append((self._spans(note, items, paths), marginals))
        return found

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, in order; up to NOTES texts are read together."""
        return (self._spans(*each) for each in self._tagged(texts))

    def _spans(self, note: Note, items: Sequence[Item], paths: Sequence[TagPath]) -> list[Span]:
        found: list[Span] = []
        for item, path in zip(items, paths, strict=True):
            tokens, tags = note.tokens[item.first : item.past], [self._tags.names[tag] for tag in path.tags]
            found += confident_spans(note.text, tokens, tags, path.odds, self._source, DECIMALS)
        return sorted(found)

    def _tagged(
        self, texts: Iterable[str], *, marginals: bool = False
    ) -> Iterator[tuple[Note, list[Item], list[TagPath]]]:
        """The notes with their items, and the best path of each item."""
        notes = (
            (note, self._encoder.items(note, tags, self._vocabulary))
            for note, tags in map(self._encoder.rule_tags, texts)
        )
        for some in blocks(notes, NOTES if self._vocabulary else 1, TOKENS, lambda each: len(each[0].tokens)):
            paths = iter(self._paths([item for _, items in some for item in items], marginals=marginals))
            for note, items in some:
                yield note, items, list(islice(paths, len(items)))

    def _paths(self, items: Sequence[Item], *, marginals: bool) -> list[TagPath]:
        paths: list[Any] = [None] * len(items)

        def tag(numbers: Sequence[int]) -> None:
            with self.device.precision():
                scores = self._network.scores([items[at].rows for at in numbers], self.device.name)
            found = self._network.paths(scores, marginals=marginals)
            for at, path in zip(numbers, found, strict=True):
                paths[at] = path

        self.placement.each([len(item) for item in items], tag)
        return paths


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
