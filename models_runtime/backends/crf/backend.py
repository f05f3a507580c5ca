"""The CRF as a backend: a trained model reads notes."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from annotations.domain.bio import decode
from annotations.domain.spans import Span
from annotations.domain.tokens import Token, covered
from annotations.domain.whitespace import trim
from models_runtime.backends.crf.emissions import Emissions
from models_runtime.backends.crf.features import Features, families
from models_runtime.backends.crf.model import load_model
from models_runtime.backends.crf.paths import Path as TagPath
from models_runtime.backends.crf.paths import best_paths
from models_runtime.backends.crf.weights import Floats
from models_runtime.backends.notes.note import read
from models_runtime.backends.notes.pieces import pieces
from models_runtime.backends.notes.said import rules_for

VERSION: Final = "2"
# Paths are sought for so many notes together, or so many tokens: a note costs half of what it costs alone.
NOTES: Final = 32
TOKENS: Final = 16_000


@dataclass(slots=True)
class _Reading:
    """A note under way, with the spans that were found so far."""

    text: str
    spans: list[Span] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Tokens of a note that are one sequence."""

    reading: _Reading
    tokens: Sequence[Token]
    emissions: Floats


class CrfBackend:
    """Reads with the model at `path`. Raises BackendError (permanent) where that is no CRF of ours."""

    name = "crf"

    def __init__(self, path: str) -> None:
        model = load_model(Path(path))
        self._tags, self._steps = model.weights.tags, model.weights.steps
        self._emissions = Emissions(families(model.lexicon), model.weights)
        self._rules = rules_for(model.card.rules_set)
        self.label_set = model.card.label_set
        self.labels = model.card.labels
        self._source = f"crf-{model.revision[:8]}"
        self.revision = f"{VERSION}-{model.revision}-{self._rules.revision}"

    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        """The spans of each text: sorted, trimmed, none overlapping another."""
        return list(self.stream(texts))

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text as it comes; up to NOTES texts are looked at together."""
        readings: list[_Reading] = []
        waiting: list[_Stretch] = []
        tokens = 0
        for text in texts:
            readings.append(_Reading(text))
            for stretch in self._stretches(readings[-1]):
                waiting.append(stretch)
                tokens += len(stretch.tokens)
                if tokens >= TOKENS:
                    self._settle(waiting)
                    waiting, tokens = [], 0
            if not waiting or len(readings) >= NOTES:
                self._settle(waiting)
                yield from (sorted(each.spans) for each in readings)
                readings, waiting, tokens = [], [], 0
        self._settle(waiting)
        yield from (sorted(each.spans) for each in readings)

    def _stretches(self, reading: _Reading) -> Iterator[_Stretch]:
        """What a note's features come to. Only that is kept: a note has ten thousand features."""
        note = read(reading.text)
        if not note.tokens:
            return
        features = Features(note, self._rules.predict([reading.text])[0])
        for first, past in pieces(note):
            yield _Stretch(reading, note.tokens[first:past], self._emissions.of(features.of(first, past), past - first))

    def _settle(self, waiting: Iterable[_Stretch]) -> None:
        """Find the spans of these."""
        for some in _alike(waiting):
            for each, path in zip(some, best_paths([each.emissions for each in some], self._steps), strict=True):
                each.reading.spans += self._spans(each, path)

    def _spans(self, stretch: _Stretch, path: TagPath) -> Iterator[Span]:
        """The spans of one sequence, each as sure as its least sure token (the marginal of the tag it got)."""
        tokens, text = stretch.tokens, stretch.reading.text
        for span in decode(tokens, [self._tags[number] for number in path.tags]):
            first, past = covered(tokens, span.start, span.end)
            start, end = trim(text, span.start, span.end)
            if start < end:
                yield Span(start, end, span.label, _confidence(min(path.odds[first:past])), self._source)


def _alike(stretches: Iterable[_Stretch]) -> Iterator[list[_Stretch]]:
    """The longest first, so many at a time that side by side they take no more than TOKENS."""
    some: list[_Stretch] = []
    for each in sorted(stretches, key=lambda each: -len(each.tokens)):
        if some and (len(some) + 1) * len(some[0].tokens) > TOKENS:
            yield some
            some = []
        some.append(each)
    if some:
        yield some


def _confidence(marginal: float) -> float | None:
    """From 0 to 1; None where weights from outside are so large that the odds can't be computed."""
    return None if math.isnan(marginal) else round(min(max(marginal, 0.0), 1.0), 4)
