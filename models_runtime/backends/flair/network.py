"""The network of Flair's sequence tagger: its own embeddings under the names of its state dict, and our BiLSTM-CRF."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from torch import nn

from models_runtime.backends.bilstm_crf.embeddings import spellings
from models_runtime.backends.bilstm_crf.network import BiLstmCrf, Shape
from models_runtime.backends.crf.paths import Path, best_paths, likeliest
from models_runtime.backends.neural.crf import with_ends
from models_runtime.backends.neural.stored import MOST_LAYERS
from models_runtime.backends.neural.tags import Tags

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
        hidden, layers = (_hidden(shapes, "rnn."), _layers(shapes, "rnn.")) if lstm else (0, 0)
        self.tagger = BiLstmCrf(Shape(None, width, hidden, layers, reproject, lstm, crf=False), Tags(tuple(tags)))
        self.crf = nn.ParameterDict({"transitions": torch.zeros(len(tags), len(tags))}) if crf else None

    def forward(self, sentences: Sequence[Sequence[str]], device: str) -> list[Any]:
        """The scores of tags [words, tags] for each sentence, which has at least one word."""
        found = torch.cat([self._embedded(number, sentences, device) for number in range(len(self.parts))], dim=2)
        lengths = [len(words) for words in sentences]
        scores = self.tagger({"fixed": found, "lengths": torch.tensor(lengths, device=device)})
        return [row[:length] for row, length in zip(scores.detach().float().cpu().numpy(), lengths, strict=True)]

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

    def paths(self, scores: Sequence[Any]) -> list[Path]:
        """The best tags of each sentence, and the probability of each tag at each word [words, tags]."""
        if self.crf is None:
            return likeliest(scores)
        steps = self.crf["transitions"].detach().float().cpu().numpy().T.astype(np.float64)  # [from, to]
        first, last = steps[self.tags.index(START)], steps[:, self.tags.index(STOP)]
        return best_paths(with_ends(scores, first, last), steps, marginals=True)


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
