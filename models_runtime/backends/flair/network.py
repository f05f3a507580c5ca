"""The network of Flair's sequence tagger, under the names of its state dict."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from models_runtime.backends.neural.stored import MOST_LAYERS
from models_runtime.backends.neural.tags import best_path
from models_runtime.backends.stacked.embeddings import spellings

START: Final = "<START>"
STOP: Final = "<STOP>"
# A character that the language model doesn't know.
UNKNOWN: Final = 0


@dataclass(frozen=True, slots=True)
class Characters:
    """A character language model. `after_space`: a word's vector is the state after the space that follows it.

    `start`: the text before each sentence. `lower`: letters are read in lower case.
    """

    numbers: dict[str, int]
    forward: bool
    lower: bool
    after_space: bool
    start: str

    def positions(self, words: Sequence[str]) -> tuple[list[int], list[int]]:
        """The sentence as numbers of characters in the order of reading, and the position of each word's state."""
        text = " ".join(words)
        if self.lower:
            text = "".join(low if len(low := each.lower()) == 1 else each for each in text)
        read = f"{self.start}{text if self.forward else text[::-1]} "
        shift = len(self.start) - (not self.after_space)
        ends, at = [], 0
        for word in words:
            ends.append(shift + (at + len(word) if self.forward else len(text) - at))
            at += len(word) + 1
        return [self.numbers.get(each, UNKNOWN) for each in read], ends


@dataclass(frozen=True, slots=True)
class Words:
    """Word vectors: the row of each word; unknown words have the last row."""

    rows: dict[str, int]

    def row(self, form: str) -> int:
        return next((self.rows[each] for each in spellings(form) if each in self.rows), len(self.rows))


class FlairNetwork(nn.Module):  # type: ignore[misc]  # torch has no types where it is not installed
    """Embeddings side by side, a linear layer, a bidirectional LSTM, and scores of tags with or without a CRF."""

    def __init__(
        self, parts: Sequence[Characters | Words], tags: Sequence[str], shapes: dict[str, Sequence[int]], *,
        reproject: bool, lstm: bool, crf: bool,
    ) -> None:  # fmt: skip
        """`shapes`: those of the stored tensors, from which the widths and numbers of layers are taken.

        Raises ValueError or LookupError for shapes that no LSTM or table has.
        """
        super().__init__()
        self.parts, self.tags = list(parts), list(tags)
        self.embeddings = nn.ModuleDict()
        width = 0
        for number, part in enumerate(parts):
            name = f"list_embedding_{number}"
            if isinstance(part, Words):
                rows, size = shapes[f"embeddings.{name}.embedding.weight"]
                self.embeddings[name] = nn.ModuleDict({"embedding": nn.Embedding(rows, size)})
            else:
                rows, small = shapes[f"embeddings.{name}.lm.encoder.weight"]
                prefix = f"embeddings.{name}.lm.rnn."
                size = _hidden(shapes, prefix)
                model = {"encoder": nn.Embedding(rows, small), "rnn": nn.LSTM(small, size, _layers(shapes, prefix))}
                self.embeddings[name] = nn.ModuleDict({"lm": nn.ModuleDict(model)})
            width += size
        self.embedding2nn = nn.Linear(width, width) if reproject else None
        self.rnn = None
        if lstm:
            hidden = _hidden(shapes, "rnn.")
            self.rnn = nn.LSTM(width, hidden, _layers(shapes, "rnn."), bidirectional=True, batch_first=True)
            width = 2 * hidden
        self.linear = nn.Linear(width, len(tags))
        self.crf = nn.ParameterDict({"transitions": torch.zeros(len(tags), len(tags))}) if crf else None

    def forward(self, sentences: Sequence[Sequence[str]], device: str) -> list[Any]:
        """The scores of tags [words, tags] for each sentence, which has at least one word."""
        found = torch.cat([self._embedded(number, sentences, device) for number in range(len(self.parts))], dim=2)
        if self.embedding2nn is not None:
            found = self.embedding2nn(found)
        lengths = [len(words) for words in sentences]
        if self.rnn is not None:
            packed = pack_padded_sequence(found, torch.tensor(lengths), batch_first=True, enforce_sorted=False)
            found, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        scores = self.linear(found).detach().float().cpu().numpy()
        return [row[:length] for row, length in zip(scores, lengths, strict=True)]

    def _embedded(self, number: int, sentences: Sequence[Sequence[str]], device: str) -> Any:
        """The vectors [sentences, words, size] of one embedding; those after a sentence's end have no meaning."""
        part, most = self.parts[number], max(map(len, sentences))
        layers = self.embeddings[f"list_embedding_{number}"]
        if isinstance(part, Words):
            rows = [[part.row(word) for word in words] + [0] * (most - len(words)) for words in sentences]
            return layers["embedding"](torch.tensor(rows, device=device))
        read = [part.positions(words) for words in sentences]
        longest = max(len(numbers) for numbers, _ in read)
        numbers = torch.tensor([[*each, *[0] * (longest - len(each))] for each, _ in read], device=device)
        at = torch.tensor([[*ends, *[0] * (most - len(ends))] for _, ends in read], device=device)
        states = layers["lm"]["rnn"](layers["lm"]["encoder"](numbers.T))[0]
        return states[at, torch.arange(len(read), device=device)[:, None]]

    def read(self, scores: Any) -> tuple[list[int], Any]:
        """The best tags of a sentence, and the probability of each tag at each word [words, tags]."""
        if self.crf is None:
            return scores.argmax(axis=1).tolist(), _softmax(scores)
        steps = self.crf["transitions"].detach().float().cpu().numpy().T.astype(np.float64)  # [from, to]
        first, last = steps[self.tags.index(START)], steps[:, self.tags.index(STOP)]
        own = scores.astype(np.float64)
        ended = own.copy()
        ended[-1] += last
        onward, behind = [own[0] + first], [last]
        for row in own[1:]:
            onward.append(np.logaddexp.reduce(onward[-1][:, None] + steps, axis=0) + row)
        for row in own[:0:-1]:
            behind.append(np.logaddexp.reduce(steps + (row + behind[-1])[None, :], axis=1))
        return best_path(ended, first, steps), _softmax(np.array(onward) + np.array(behind[::-1]))


def _hidden(shapes: dict[str, Sequence[int]], prefix: str) -> int:
    """The width of an LSTM, whose gates have four times as many rows."""
    gates, size = shapes[f"{prefix}weight_hh_l0"]
    if not 0 < gates == 4 * size:
        raise ValueError("no LSTM")
    return size


def _layers(shapes: dict[str, Sequence[int]], prefix: str) -> int:
    found = sum(name.startswith(f"{prefix}weight_hh_l") and not name.endswith("_reverse") for name in shapes)
    if found > MOST_LAYERS:
        raise ValueError("too many layers")
    return found


def _softmax(scores: Any) -> Any:
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)
