"""spaCy's NER as a backend: a model that was trained here reads notes."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from spacy.tokens import Doc

from annotations.domain.spans import Span
from models_runtime.backends.notes.said import rules_for
from models_runtime.backends.spacy_ner.model import load_model
from models_runtime.backends.spacy_ner.network import recognizer
from models_runtime.backends.spacy_ner.notes import Cut, Reader
from models_runtime.backends.spacy_ner.reading import Found, entities

VERSION: Final = "1"
# Stretches, and notes, that are read side by side. What is found doesn't depend on it.
BATCH: Final = 128
NOTES: Final = 32


class SpacyBackend:
    """Reads with the model at `path`. Raises BackendError (permanent) where that is no spaCy model of ours."""

    name = "spacy"

    def __init__(self, path: str) -> None:
        model = load_model(Path(path))
        rules = rules_for(model.card.rules_set)
        self._ner = recognizer(model.nlp)
        self._reader = Reader(model.nlp, rules, model.lexicon)
        self.label_set = model.card.label_set
        self.labels = model.card.labels
        self._source = f"spacy-{model.revision[:8]}"
        self.revision = f"{VERSION}-{model.revision}-{rules.revision}"

    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        """The spans of each text: sorted, trimmed, none overlapping another."""
        return list(self.stream(texts))

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text; a few texts are read side by side, which is several times as fast."""
        for cuts in _few(map(self._reader.note, texts)):
            found = self._found([doc for cut in cuts for doc in cut.documents(self._reader.nlp)])
            for cut in cuts:
                yield cut.spans(islice(found, len(cut.stretches)), self._source)

    def _found(self, documents: Sequence[Doc]) -> Iterator[list[Found]]:
        for at in range(0, len(documents), BATCH):
            yield from entities(self._ner, documents[at : at + BATCH])


def _few(cuts: Iterable[Cut]) -> Iterator[list[Cut]]:
    """In order: up to NOTES notes, or as many as have BATCH stretches."""
    waiting: list[Cut] = []
    stretches = 0
    for cut in cuts:
        waiting.append(cut)
        stretches += len(cut.stretches)
        if stretches >= BATCH or len(waiting) >= NOTES:
            yield waiting
            waiting, stretches = [], 0
    if waiting:
        yield waiting
