"""The backend for Flair's sequence taggers, with labels mapped to a label set."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from annotations.text.bio import OUTSIDE, as_bio, decode, marks_and_labels, without_special
from annotations.text.characters import trim
from annotations.text.segments import sentences
from annotations.text.spans import Span
from annotations.text.tokens import Token, covered, tokenize
from models_runtime.backends.base import BackendError
from models_runtime.backends.flair.folder import load_tagger
from models_runtime.backends.marginals import Marginals, Marked
from models_runtime.backends.neural.device import OnDevice, Placement, choose_device
from models_runtime.backends.neural.stored import check_scores, name_of

VERSION: Final = "1"
BLOCK: Final = 16
# Words and characters in a sentence. A longer one is cut.
MOST_WORDS: Final = 200
MOST_CHARACTERS: Final = 2000
# Characters of a word that are read; the language models need none of the others to tell what the word is.
MOST_LETTERS: Final = 200
JOINERS: Final = frozenset("-./:,'’@_")
DECIMALS: Final = 3
# Prefixes that our own tags don't have: none, and that for the middle of a span in BMES.
MARKS: Final = {"": "I", "M": "I"}


@dataclass(frozen=True, slots=True)
class _Sentence:
    """Words of a text, each with the first and the past-the-last of its tokens. `size`: characters that are read."""

    text: int
    words: list[tuple[int, int]]
    size: int


class FlairBackend(OnDevice):
    """Predicts with the tagger in the folder `path` (safetensors; nothing in it is run).

    `labels` maps each of the tagger's labels to a code in `label_set`, or to None for spans to leave out. A confidence
    is the lowest probability of the label at the words of a span. Raises BackendError (permanent) for an unusable
    folder or an incomplete map.
    """

    name = "flair"

    def __init__(self, path: str, label_set: str, labels: Mapping[str, str | None], device: str = "auto") -> None:
        folder = Path(path)
        self._network, digest = load_tagger(folder)
        split = _split(self._network.tags)
        self._theirs = [label for _, label in split]
        self._names = [f"{MARKS.get(mark, mark)}-{label}" if label else OUTSIDE for mark, label in split]
        if missing := sorted({label for label in self._theirs if label} ^ set(labels)):
            raise BackendError(
                f"The label map and the tagger differ in: {', '.join(missing)}. Map the tagger's labels.",
                permanent=True,
            )
        self._map = dict(labels)
        self.label_set = label_set
        self.labels = tuple(sorted({label for label in labels.values() if label}))
        mapped = hashlib.sha256(f"{sorted(labels.items())}{label_set}".encode()).hexdigest()
        self.revision = f"{VERSION}-{digest}-{mapped[:8]}"
        self._source = f"flair-{name_of(folder)[:60]}-{digest[:8]}"
        self.placement = Placement(choose_device(device), self._network)

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, in order, computed in blocks of texts."""
        left = iter(texts)
        while block := list(islice(left, BLOCK)):
            yield from (spans for spans, _ in self.predict_marginals(block))

    def predict_marginals(self, texts: Sequence[str]) -> list[Marked]:
        """The spans of each text, and the probabilities of the labels at its tokens."""
        tokens = [tokenize(text) for text in texts]
        work = [sentence for at, text in enumerate(texts) for sentence in _cut(at, text, tokens[at])]
        read: list[Any] = [None] * len(work)

        def tag(batch: Sequence[int]) -> None:
            given = [_forms(texts[work[at].text], tokens[work[at].text], work[at].words) for at in batch]
            with torch.inference_mode():
                found = self._network(given, self.device.name)
            check_scores(bool(np.isfinite(scores).all()) for scores in found)
            for at, path in zip(batch, self._network.paths(found), strict=True):
                read[at] = path

        self.placement.each([sentence.size for sentence in work], tag)
        found: list[Marked] = []
        spans: list[list[Span]] = [[] for _ in texts]
        shares = [np.zeros((len(own), len(self.labels))) for own in tokens]
        for sentence, path in zip(work, read, strict=True):
            own = tokens[sentence.text]
            rows = self._shares(path.marginals)
            for (first, past), row in zip(sentence.words, rows, strict=True):
                shares[sentence.text][first:past] = row
            spans[sentence.text] += self._spans(texts[sentence.text], own, sentence, path.tags, rows)
        for own, marked, rows in zip(tokens, spans, shares, strict=True):
            found.append((sorted(marked), Marginals(own, self.labels, rows)))
        return found

    def _shares(self, probabilities: Any) -> Any:
        """The probability of each of our labels [words, labels]."""
        rows = np.zeros((len(probabilities), len(self.labels)))
        for column, theirs in enumerate(self._theirs):
            if theirs and (ours := self._map[theirs]):
                rows[:, self.labels.index(ours)] += probabilities[:, column]
        return rows.clip(0.0, 1.0)

    def _spans(
        self, text: str, tokens: Sequence[Token], sentence: _Sentence, path: Sequence[int], rows: Any
    ) -> Iterator[Span]:
        words = [Token(tokens[first].start, tokens[past - 1].end) for first, past in sentence.words]
        for span in decode(words, as_bio(self._names[tag] for tag in path)):
            start, end = trim(text, span.start, span.end)
            if (ours := self._map[span.label]) and start < end:
                first, past = covered(words, span.start, span.end)
                least = float(rows[first:past, self.labels.index(ours)].min())
                yield Span(start, end, ours, round(least, DECIMALS), self._source)


def _split(tags: Sequence[str]) -> list[tuple[str, str]]:
    """The prefix and the label of each tag. Raises BackendError (permanent) for a tag with an empty name."""
    try:
        return marks_and_labels(without_special(tags))
    except ValueError as error:
        raise BackendError(str(error), permanent=True) from None


def _cut(number: int, text: str, tokens: Sequence[Token]) -> Iterator[_Sentence]:
    """The sentences of a text, in words."""
    for start, end in sentences(text):
        words = _words(text, tokens, *covered(tokens, start, end))
        first = size = 0
        for at, form in enumerate(_forms(text, tokens, words)):
            if at == first + MOST_WORDS or size + len(form) >= MOST_CHARACTERS:
                yield _Sentence(number, words[first:at], size)
                first, size = at, 0
            size += len(form) + 1
        if first < len(words):
            yield _Sentence(number, words[first:], size)


def _words(text: str, tokens: Sequence[Token], first: int, past: int) -> list[tuple[int, int]]:
    """Tokens that belong together: letters and digits without a space, also with one joiner between them."""

    def plain(at: int) -> bool:
        return at < past and text[tokens[at].start].isalnum()

    def touches(at: int) -> bool:
        return at < past and tokens[at - 1].end == tokens[at].start

    found = []
    while first < past:
        end = first + 1
        while plain(first) and touches(end):
            if plain(end):
                end += 1
            elif text[tokens[end].start] in JOINERS and touches(end + 1) and plain(end + 1):
                end += 2
            else:
                break
        found.append((first, end))
        first = end
    return found


def _forms(text: str, tokens: Sequence[Token], words: Sequence[tuple[int, int]]) -> list[str]:
    return [text[tokens[first].start : tokens[past - 1].end][:MOST_LETTERS] for first, past in words]
