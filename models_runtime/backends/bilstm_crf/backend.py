"""The BiLSTM-CRF backend: predicts spans with a model that was trained here."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

from models_runtime.backends.base import blocks
from models_runtime.backends.bilstm_crf.embeddings import Embedding, Stack, Words, with_file
from models_runtime.backends.bilstm_crf.inputs import Item, NoteEncoder
from models_runtime.backends.bilstm_crf.model import load_model
from models_runtime.backends.crf.paths import Path as TagPath
from models_runtime.backends.crf.paths import PathBackend, PieceNote
from models_runtime.backends.neural.device import OnDevice, Placement, choose_device
from models_runtime.backends.rule_tags import rules_of

VERSION: Final = "1"
# Notes or tokens that are read together; the vectors of embeddings are too large for more than one note.
NOTES: Final = 64
TOKENS: Final = 32_768


class BiLstmCrfBackend(PathBackend, OnDevice):
    """Predicts with the model at `path`. `embeddings`: the folder of word vectors on this machine; empty without one.

    Without the file of its word vectors, the model knows only the words that it keeps; the revision then names the
    file. Raises BackendError (permanent) for a file that is no such model.
    """

    decimals = 3
    """Further places depend on the other items of the batch."""

    def __init__(self, path: str, embeddings: str = "", device: str = "auto") -> None:
        model = load_model(Path(path))
        self.name = "bilstm-crf" if model.vocabulary else "bilstm-crf-stacked"
        rules = rules_of(model.card.rules_set) if model.card.rules_set is not None else None
        self._network = model.network
        self._vocabulary, self.tags = model.vocabulary, model.tags.names
        self._stack, lacking = _with_files(model.stack, Path(embeddings) if embeddings else None)
        self.placement = Placement(choose_device(device), self._network, *self._stack.networks)
        vectors = partial(self._stack.vectors, placement=self.placement)
        self._encoder = NoteEncoder(rules, model.lexicon, model.card.grouped, vectors)
        self.label_set = model.card.label_set
        self.labels = model.card.labels
        self._source = f"{self.name}-{model.revision[:8]}"
        self.revision = "-".join([VERSION, model.revision, *([rules.revision] if rules else []), *lacking])

    def tagged(self, texts: Iterable[str], *, marginals: bool = False) -> Iterator[tuple[PieceNote, list[TagPath]]]:
        """The texts, each with the best paths of its items; up to NOTES texts are read together."""
        notes = (
            (note, self._encoder.items(note, tags, self._vocabulary))
            for note, tags in map(self._encoder.rule_tags, texts)
        )
        for some in blocks(notes, NOTES if self._vocabulary else 1, TOKENS, lambda each: len(each[0].tokens)):
            paths = iter(self._paths([item for _, items in some for item in items], marginals=marginals))
            for note, items in some:
                bounds = [(item.first, item.past) for item in items]
                yield PieceNote(note, bounds), list(islice(paths, len(items)))

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
