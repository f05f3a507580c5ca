"""The CRF as a backend: a trained model reads notes."""

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from annotations.domain.bio import OUTSIDE, decode
from annotations.domain.spans import Span
from annotations.domain.tokens import covered
from annotations.domain.whitespace import trim
from models_runtime.backends.crf.features import Features, Tables
from models_runtime.backends.crf.model import load_model
from models_runtime.backends.notes.note import Note, read
from models_runtime.backends.notes.pieces import pieces
from models_runtime.backends.notes.said import rules_for

VERSION: Final = "2"


class CrfBackend:
    """Reads with the model at `path`. Raises BackendError (permanent) where that is no CRF of ours."""

    name = "crf"

    def __init__(self, path: str) -> None:
        model = load_model(Path(path))
        self._model = model
        self._tagger = model.tagger
        self._tables = Tables(model.lexicon, model.known)
        self._rules = rules_for(model.card.rules_set)
        self.label_set = model.card.label_set
        self.labels = model.card.labels
        self._source = f"crf-{model.revision[:8]}"
        self.revision = f"{VERSION}-{model.revision}-{self._rules.revision}"

    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        """The spans of each text: sorted, trimmed, none overlapping another."""
        return list(self.stream(texts))

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text as it comes."""
        return map(self._read, texts)

    def _read(self, text: str) -> list[Span]:
        note = read(text)
        if not note.tokens:
            return []
        features = Features(note, self._rules.predict([text])[0], self._tables)
        spans = []
        for first, past in pieces(note):
            tags = self._tagger.tag(features.of(first, past))
            spans += self._spans(note, first, past, tags)
        return sorted(spans)

    def _spans(self, note: Note, first: int, past: int, tags: list[str]) -> list[Span]:
        """The spans of one sequence, each as sure as its least sure token (the marginal of the tag it got)."""
        if all(tag == OUTSIDE for tag in tags):
            return []
        tokens = note.tokens[first:past]
        found = []
        for span in decode(tokens, tags):
            here = range(*covered(tokens, span.start, span.end))
            sure = min(self._tagger.marginal(tags[at], at) for at in here)
            start, end = trim(note.text, span.start, span.end)
            if start < end:
                found.append(Span(start, end, span.label, _confidence(sure), self._source))
        return found


def _confidence(marginal: float) -> float | None:
    """From 0 to 1; None where weights from outside are so large that crfsuite can't compute odds."""
    return None if math.isnan(marginal) else round(min(max(marginal, 0.0), 1.0), 4)
