"""The GLiNER backend: asks prompts in groups, and reads texts in windows."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from annotations.text.spans import Span, trim
from models_runtime.backends.base import BackendError, blocks
from models_runtime.backends.gliner.model import CONFIG, GlinerFolder
from models_runtime.backends.neural import device as neural_device
from models_runtime.backends.token_classification.encoding import FILE
from models_runtime.backends.token_classification.model import WEIGHTS

VERSION: Final = "1"
# GLiNER's rule of words (its splitter “whitespace”).
WORD: Final = re.compile(r"\w+(?:[-_]\w+)*|\S")
# A span is suggested if its probability for a prompt is higher.
THRESHOLD: Final = 0.5
DECIMALS: Final = 3
BLOCK: Final = 16

# First and past-the-last word, and the index of the prompt.
Candidate = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a text: their bounds (code points), and the pieces of each."""

    bounds: list[tuple[int, int]]
    pieces: list[list[int]]


@dataclass(frozen=True, slots=True)
class _Window:
    """Words `start` to `past` of a text, read together with one group of prompts."""

    text: int
    start: int
    past: int
    group: int


@dataclass(frozen=True, slots=True)
class _Group:
    """Prompts that are read together: the index of the first, all pieces, and the position of each prompt's vector."""

    first: int
    pieces: list[int]
    at: list[int]


class GlinerBackend(neural_device.OnDevice):
    """Predicts with the GLiNER model in the folder `path` (safetensors; no code from the folder is run).

    `labels` maps each prompt to a code in `label_set`. Many prompts are asked in groups, and long texts are read in
    windows that overlap by more words than a span can have. Of spans that overlap, the likeliest is kept; its
    probability is the confidence. Raises BackendError (permanent) for an unusable folder.
    """

    name = "gliner"

    def __init__(self, path: str, label_set: str, labels: Mapping[str, str | None], device: str = "auto") -> None:
        folder = GlinerFolder(path)
        self._folder, self.label_set = folder, label_set
        asked = sorted((prompt, code) for prompt, code in labels.items() if code)
        self._codes = [code for _, code in asked]
        self.labels = tuple(sorted(set(self._codes)))
        digest = neural_device.digest_of(folder.path, (CONFIG, FILE, WEIGHTS))
        self.revision = f"{VERSION}-{digest}-{hashlib.sha256(repr(asked).encode()).hexdigest()[:8]}"
        self._source = f"gliner-{folder.name[:60]}-{digest[:8]}"
        self._before, self._after = folder.pieces.around
        self._room = folder.room - len(self._before) - len(self._after)
        self._groups = list(self._grouped([prompt for prompt, _ in asked]))
        self.placement = neural_device.Placement(neural_device.choose_device(device), folder.network)

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, in order, computed in blocks of texts."""
        for block in blocks(texts, BLOCK):
            found = [_split(text, self._folder.pieces.of_words, self._room // 4) for text in block]
            for text, words, scores in zip(block, found, self._scores(found), strict=True):
                yield self._spans(text, words, scores)

    def _grouped(self, prompts: Sequence[str]) -> Iterator[_Group]:
        """Groups of prompts that take at most half of a window. Raises BackendError for a prompt that is too long."""
        first, pieces, at = 0, list[int](), list[int]()
        for number, prompt in enumerate(prompts):
            own = [self._folder.ent, *self._folder.pieces.of_words([prompt])[0]]
            if len(own) + 1 > self._room // 2:
                raise BackendError("The prompt “{prompt}” is too long for the model. Shorten it.", prompt[:40])
            if at and (len(pieces) + len(own) + 1 > self._room // 2 or len(at) == self._folder.max_prompts):
                yield _Group(first, [*pieces, self._folder.sep], at)
                first, pieces, at = number, [], []
            at.append(len(self._before) + len(pieces) + self._folder.after)
            pieces = pieces + own
        if at:
            yield _Group(first, [*pieces, self._folder.sep], at)

    def _windows(self, text: int, words: _Words) -> Iterator[_Window]:
        overlap = 2 * self._folder.width
        for number, group in enumerate(self._groups):
            most = self._room - len(group.pieces)
            start = past = 0
            while past < len(words.pieces):
                size, past = 0, start
                while past < len(words.pieces) and past - start < self._folder.max_words:
                    size += len(words.pieces[past])
                    if size > most:
                        break
                    past += 1
                yield _Window(text, start, past, number)
                start = max(start + 1, past - overlap)

    def _scores(self, texts: Sequence[_Words]) -> list[dict[Candidate, float]]:
        """The candidates of each text above the threshold, with their highest probability in a window."""
        work = [window for number, words in enumerate(texts) for window in self._windows(number, words)]
        found: list[dict[Candidate, float]] = [{} for _ in texts]

        def read(batch: Sequence[int]) -> None:
            # All texts of a batch have the same prompts.
            for group in sorted({work[at].group for at in batch}):
                chosen = [work[at] for at in batch if work[at].group == group]
                for window, scores in zip(chosen, self._read(texts, chosen, self._groups[group]), strict=True):
                    for first, width, prompt in np.argwhere(scores > THRESHOLD).tolist():
                        if window.start + first + width < window.past:
                            start = window.start + first
                            key = (start, start + width + 1, self._groups[group].first + prompt)
                            known = found[window.text].get(key, 0.0)
                            found[window.text][key] = max(known, float(scores[first, width, prompt]))

        self.placement.each([self._length(texts, window) for window in work], read)
        return found

    def _length(self, texts: Sequence[_Words], window: _Window) -> int:
        own = texts[window.text].pieces[window.start : window.past]
        return len(self._groups[window.group].pieces) + sum(map(len, own)) + len(self._before) + len(self._after)

    def _read(self, texts: Sequence[_Words], windows: Sequence[_Window], group: _Group) -> Any:
        """The probabilities [windows, words, widths, prompts]."""
        counts = [window.past - window.start for window in windows]
        rows, firsts = [], []
        for window in windows:
            given, first = [*self._before, *group.pieces], []
            for own in texts[window.text].pieces[window.start : window.past]:
                first.append(len(given) if own else -1)
                given += own
            rows.append(torch.tensor([*given, *self._after]))
            firsts.append(torch.tensor(first))
        device = self.placement.device
        pieces = pad_sequence(rows, batch_first=True, padding_value=self._folder.pad).to(device.name)
        words = pad_sequence(firsts, batch_first=True, padding_value=-1).to(device.name)
        mask = torch.arange(pieces.shape[1]) < torch.tensor([len(row) for row in rows])[:, None]
        at = torch.tensor(group.at, device=device.name)
        with torch.inference_mode(), device.precision():
            logits = self._folder.network(pieces, mask.long().to(device.name), at, words, torch.tensor(counts))
        logits = logits.float().cpu()
        # Spans that leave their text have scores without meaning.
        inside = np.add.outer(np.arange(logits.shape[1]), np.arange(logits.shape[2])) < np.array(counts)[:, None, None]
        neural_device.check_scores([bool(torch.isfinite(logits[torch.from_numpy(inside)]).all())])
        return torch.sigmoid(logits).numpy()

    def _spans(self, text: str, words: _Words, scores: Mapping[Candidate, float]) -> list[Span]:
        taken = np.zeros(len(words.bounds), dtype=bool)
        spans = []
        for (first, past, prompt), score in sorted(scores.items(), key=lambda item: (-item[1], item[0])):
            if taken[first:past].any():
                continue
            taken[first:past] = True
            start, end = trim(text, words.bounds[first][0], words.bounds[past - 1][1])
            if start < end:
                spans.append(Span(start, end, self._codes[prompt], round(min(score, 1.0), DECIMALS), self._source))
        return sorted(spans)


def _split(text: str, of_words: Any, most: int) -> _Words:
    """The words of a text. The network takes a word's first piece, so the end of a very long word can be left out."""
    found = list(WORD.finditer(text))
    numbers, owners = of_words([match.group() for match in found])
    pieces: list[list[int]] = [[] for _ in found]
    for number, owner in zip(numbers, owners, strict=True):
        if len(pieces[owner]) < most:
            pieces[owner].append(number)
    return _Words([match.span() for match in found], pieces)
