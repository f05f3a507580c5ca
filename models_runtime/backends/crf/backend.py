"""The CRF backend: predicts spans with a trained model."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from annotations.text.bio import OUTSIDE, decode
from annotations.text.characters import trim
from annotations.text.spans import Span, overlaps
from annotations.text.tokens import Token, covered, tokens_at
from models_runtime.backends.base import StreamingBackend, blocks
from models_runtime.backends.crf.emissions import Emissions
from models_runtime.backends.crf.features import earlier_tags
from models_runtime.backends.crf.model import Floats, Model, load_model
from models_runtime.backends.crf.paths import Path as TagPath
from models_runtime.backends.crf.paths import best_paths
from models_runtime.backends.marginals import Marginals, Marked
from models_runtime.backends.notes import bounds_of, pieces, read
from models_runtime.backends.rule_tags import rule_tags, rules_of

VERSION: Final = "2"
# This many notes or tokens are read together, because a step from token to token costs hardly more for many sequences
# than for one. With 41 tags, 32,000 tokens take 44 MB while their paths are computed, and more with more tags.
NOTES: Final = 64
TOKENS: Final = 32_000


@dataclass(slots=True)
class _PendingNote:
    """A note with the spans found so far, and with those of the earlier stage; None without one.

    `tokens`, `marginals`: the probabilities of tags [tokens, tags] of its sequences so far, if they were asked for.
    """

    text: str
    earlier: Sequence[Span] | None = None
    spans: list[Span] = field(default_factory=list)
    tokens: list[Token] = field(default_factory=list)
    marginals: list[Floats] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Sequence:
    """Tokens of a note that form one sequence. `bounds`: see bounds_of."""

    pending: _PendingNote
    bounds: NDArray[np.int64]
    emissions: Floats


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
        self._outside = self._tags.index(OUTSIDE) if OUTSIDE in self._tags else None
        self._emissions = Emissions(model.lexicon, model.weights, staged=self._earlier is not None)
        self._rules = rules_of(model.card.rules_set)
        self.label_set = model.card.label_set
        self.labels = model.card.labels
        self._source = f"crf-{model.revision[:8]}"
        self.revision = f"{VERSION}-{model.revision}-{self._rules.revision}"
        if self._earlier is not None:
            self.revision += f"-{self._earlier.revision}"

    def predict_marginals(self, texts: Sequence[str]) -> list[Marked]:
        """The spans of each text, and the probabilities of the labels at its tokens; of several stages, the last's."""
        return [
            (
                self._completed(note),
                Marginals.of_tags(note.tokens, self._tags, np.concatenate(note.marginals) if note.marginals else []),
            )
            for note in self._notes(texts, marginals=True)
        ]

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, in order; up to NOTES texts are processed together."""
        return map(self._completed, self._notes(texts))

    def _notes(self, texts: Iterable[str], *, marginals: bool = False) -> Iterator[_PendingNote]:
        """The texts with the spans of their best paths."""
        notes: list[_PendingNote] = []
        waiting: list[_Sequence] = []
        tokens = 0
        for text, earlier in self._with_earlier(texts):
            notes.append(_PendingNote(text, earlier))
            for sequence in self._sequences(notes[-1]):
                waiting.append(sequence)
                tokens += len(sequence.bounds)
                if tokens >= TOKENS:
                    self._predict_waiting(waiting, marginals=marginals)
                    waiting, tokens = [], 0
            if not waiting or len(notes) >= NOTES:
                self._predict_waiting(waiting, marginals=marginals)
                yield from notes
                notes, waiting, tokens = [], [], 0
        self._predict_waiting(waiting, marginals=marginals)
        yield from notes

    def _with_earlier(self, texts: Iterable[str]) -> Iterator[tuple[str, Sequence[Span] | None]]:
        """The texts with the spans of the earlier stage, which reads up to NOTES texts together."""
        if self._earlier is None:
            yield from ((text, None) for text in texts)
            return
        for some in blocks(texts, NOTES):
            yield from zip(some, self._earlier.predict(some), strict=True)

    def _completed(self, pending: _PendingNote) -> list[Span]:
        """The note's spans, with those of the earlier stage whose labels this stage doesn't know."""
        unknown = [span for span in pending.earlier or () if span.label not in self._trained_labels]
        kept = [
            replace(span, source=self._source)
            for span in unknown
            if not any(overlaps(span, other) for other in pending.spans)
        ]
        return sorted([*pending.spans, *kept])

    def _sequences(self, pending: _PendingNote) -> Iterator[_Sequence]:
        """The sequences of a note with their emissions. Features are not kept: a note has about ten thousand."""
        note = read(pending.text)
        if not note.tokens:
            return
        tags = rule_tags(note, self._rules.predict([pending.text])[0])
        earlier = earlier_tags(note, pending.earlier or ())
        bounds = bounds_of(note.tokens)
        for first, past in pieces(note):
            yield _Sequence(pending, bounds[first:past], self._emissions.of(note, tags, earlier, first, past))

    def _predict_waiting(self, waiting: Sequence[_Sequence], *, marginals: bool) -> None:
        """Find the spans of these sequences and add them to their notes, with `marginals` also the probabilities."""
        emissions = [each.emissions for each in waiting]
        paths = best_paths(emissions, self._steps, marginals=marginals, outside=self._outside)
        for each, path in zip(waiting, paths, strict=True):
            each.pending.spans += self._spans(each, path)
            if path.marginals is not None:
                each.pending.tokens += tokens_at(each.bounds.tolist())
                each.pending.marginals.append(path.marginals)

    def _spans(self, sequence: _Sequence, path: TagPath) -> Iterator[Span]:
        """The spans of a sequence. Confidence: the lowest marginal probability of the tags of its tokens."""
        text = sequence.pending.text
        for first, past in path.stretches(self._outside):
            tokens, odds = tokens_at(sequence.bounds[first:past].tolist()), path.odds[first:past]
            for span in decode(tokens, [self._tags[number] for number in path.tags[first:past]]):
                least = min(odds[slice(*covered(tokens, span.start, span.end))])
                start, end = trim(text, span.start, span.end)
                if start < end:
                    yield Span(start, end, span.label, _confidence(least), self._source)


def _confidence(marginal: float) -> float | None:
    """From 0 to 1; None if an uploaded model's weights are so large that probabilities can't be computed."""
    return None if math.isnan(marginal) else round(min(max(marginal, 0.0), 1.0), 4)
