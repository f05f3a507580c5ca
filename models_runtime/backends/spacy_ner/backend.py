"""The spaCy backend: predicts spans with a model that was trained here."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from spacy.tokens import Doc

from annotations.text.spans import Span
from models_runtime.backends.notes.rule_tags import rules_of
from models_runtime.backends.spacy_ner.decoding import DecodedEntity, entities
from models_runtime.backends.spacy_ner.encoding import Cut, NoteEncoder
from models_runtime.backends.spacy_ner.model import load_model
from models_runtime.backends.spacy_ner.network import recognizer

VERSION: Final = "1"
# Sequences and notes in one batch. The spans don't depend on them.
BATCH: Final = 128
NOTES: Final = 32


class SpacyBackend:
    """A backend that predicts with the model at `path`. Raises BackendError (permanent) for any other file."""

    name = "spacy"

    def __init__(self, path: str) -> None:
        model = load_model(Path(path))
        rules = rules_of(model.card.rules_set)
        self._ner = recognizer(model.nlp)
        self._encoder = NoteEncoder(model.nlp, rules, model.lexicon)
        self.label_set = model.card.label_set
        self.labels = model.card.labels
        self._source = f"spacy-{model.revision[:8]}"
        self.revision = f"{VERSION}-{model.revision}-{rules.revision}"

    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        """The spans of each text: sorted, trimmed, without overlaps."""
        return list(self.stream(texts))

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, in order. Several texts share a batch, which is several times as fast."""
        for cuts in _groups(map(self._encoder.note, texts)):
            found = self._found([doc for cut in cuts for doc in cut.documents(self._encoder.nlp)])
            for cut in cuts:
                yield cut.spans(islice(found, len(cut.sequences)), self._source)

    def _found(self, documents: Sequence[Doc]) -> Iterator[list[DecodedEntity]]:
        for at in range(0, len(documents), BATCH):
            yield from entities(self._ner, documents[at : at + BATCH])


def _groups(cuts: Iterable[Cut]) -> Iterator[list[Cut]]:
    """Groups of notes, in order: up to NOTES notes, or as many as have BATCH sequences."""
    waiting: list[Cut] = []
    sequences = 0
    for cut in cuts:
        waiting.append(cut)
        sequences += len(cut.sequences)
        if sequences >= BATCH or len(waiting) >= NOTES:
            yield waiting
            waiting, sequences = [], 0
    if waiting:
        yield waiting
