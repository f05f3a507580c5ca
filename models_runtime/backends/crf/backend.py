"""The CRF backend: predicts spans with a trained model."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np

from annotations.text.spans import Span, overlaps
from models_runtime.backends.base import StreamingBackend, blocks
from models_runtime.backends.crf.emissions import Emissions
from models_runtime.backends.crf.features import Features, families
from models_runtime.backends.crf.model import Floats, Model, load_model
from models_runtime.backends.crf.paths import Path as TagPath
from models_runtime.backends.crf.paths import best_paths
from models_runtime.backends.marginals import Marginals, Marked, confident_spans
from models_runtime.backends.notes import Note, pieces, read
from models_runtime.backends.rule_tags import rules_of

VERSION: Final = "2"
# This many notes or tokens are read together, because a step from token to token costs hardly more for many sequences
# than for one. With 41 tags, 32,000 tokens take 44 MB while their paths are computed, and more with more tags.
NOTES: Final = 64
TOKENS: Final = 32_000


@dataclass(frozen=True, slots=True)
class _ReadNote:
    """A note with the spans of the earlier stage (None without one), and the bounds of its sequences of tokens."""

    note: Note
    earlier: Sequence[Span] | None
    pieces: list[tuple[int, int]]


class CrfBackend(StreamingBackend):
    """Predicts with the model at `path`. Raises BackendError (permanent) for any other file.

    If the model was trained from an earlier one, the earlier model's spans are features. Spans of the earlier model
    whose label the last training did not know are kept where they overlap no other span.
    """

    name = "crf"

    def __init__(self, path: str) -> None:
        self._read(load_model(Path(path)))

    @classmethod
    def _of(cls, model: Model) -> "CrfBackend":
        made = cls.__new__(cls)
        made._read(model)
        return made

    def _read(self, model: Model) -> None:
        self._earlier = CrfBackend._of(model.earlier) if model.earlier else None
        self._trained_labels = model.trained_labels
        self._tags, self._steps = model.weights.tags, model.weights.steps
        self._emissions = Emissions(families(model.lexicon, staged=self._earlier is not None), model.weights)
        self._rules = rules_of(model.card.rules_set)
        self.label_set = model.card.label_set
        self.labels = model.card.labels
        self._source = f"crf-{model.revision[:8]}"
        self.revision = f"{VERSION}-{model.revision}-{self._rules.revision}"
        if self._earlier is not None:
            self.revision += f"-{self._earlier.revision}"

    def predict_marginals(self, texts: Sequence[str]) -> list[Marked]:
        """The spans of each text, and the probabilities of the labels at its tokens; of several stages, the last's."""
        found = []
        for read_note, paths in self._tagged(texts, marginals=True):
            shares = [path.marginals for path in paths if path.marginals is not None]
            rows = np.concatenate(shares) if shares else np.zeros((0, len(self._tags)))
            marginals = Marginals.of_tags(read_note.note.tokens, self._tags, rows)
            found.append((self._spans(read_note, paths), marginals))
        return found

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, in order; up to NOTES texts are processed together."""
        return (self._spans(*each) for each in self._tagged(texts))

    def _tagged(self, texts: Iterable[str], *, marginals: bool = False) -> Iterator[tuple[_ReadNote, list[TagPath]]]:
        """The texts, each with the best paths of its sequences."""
        for some in blocks(self._read_notes(texts), NOTES, TOKENS, lambda each: len(each.note.tokens)):
            paths = self._paths(some, marginals=marginals)
            for each in some:
                yield each, list(islice(paths, len(each.pieces)))

    def _read_notes(self, texts: Iterable[str]) -> Iterator[_ReadNote]:
        """The texts with the spans of the earlier stage, which reads up to NOTES texts together."""
        for some in blocks(texts, NOTES):
            before = self._earlier.predict(some) if self._earlier else [None] * len(some)
            for text, earlier in zip(some, before, strict=True):
                note = read(text)
                yield _ReadNote(note, earlier, list(pieces(note)))

    def _paths(self, notes: Iterable[_ReadNote], *, marginals: bool) -> Iterator[TagPath]:
        """The best path of each sequence."""
        for some in blocks(self._scores(notes), TOKENS, TOKENS, len):
            yield from best_paths(some, self._steps, marginals=marginals)

    def _scores(self, notes: Iterable[_ReadNote]) -> Iterator[Floats]:
        """The emissions of each sequence. Features are not kept: a note has about ten thousand."""
        for each in notes:
            if each.pieces:
                features = Features(each.note, self._rules.predict([each.note.text])[0], each.earlier)
                yield from (self._emissions.of(features.of(*piece), piece[1] - piece[0]) for piece in each.pieces)

    def _spans(self, read_note: _ReadNote, paths: Sequence[TagPath]) -> list[Span]:
        """The note's spans, with those of the earlier stage whose labels this stage doesn't know."""
        text, found = read_note.note.text, list[Span]()
        for (first, past), path in zip(read_note.pieces, paths, strict=True):
            tags = [self._tags[number] for number in path.tags]
            found += confident_spans(text, read_note.note.tokens[first:past], tags, path.odds, self._source)
        kept = [
            replace(span, source=self._source)
            for span in read_note.earlier or ()
            if span.label not in self._trained_labels and not any(overlaps(span, other) for other in found)
        ]
        return sorted([*found, *kept])
