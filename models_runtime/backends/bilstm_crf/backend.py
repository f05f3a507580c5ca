"""The BiLSTM-CRF backend: predicts spans with a model that was trained here."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from annotations.text.spans import Span
from annotations.text.tokens import tokens_at
from models_runtime.backends.bilstm_crf.embeddings import Embedding, Stack, Words, with_file
from models_runtime.backends.bilstm_crf.inputs import COLUMNS, OF_FORM, Item, NoteEncoder, Rows, confident_spans
from models_runtime.backends.bilstm_crf.model import BiLstmCrf, load_model
from models_runtime.backends.crf.paths import Path as TagPath
from models_runtime.backends.marginals import Marginals, Marked
from models_runtime.backends.neural.device import OnDevice, Placement, choose_device
from models_runtime.backends.notes import bounds_of
from models_runtime.backends.rule_tags import rules_of

# The scores of a trained network on a CPU: those of the network itself up to rounding, in a fraction of the time.
#
# The LSTMs multiply the vector of each token with a matrix. Here the vectors of a spelling and of a position (all other
# columns of a token) are multiplied once and kept, so that the input of a token is the sum of two rows. Padding is
# never computed: at each step, only the items that are long enough take part. The hyperbolic tangent is computed as
# 2σ(2x) - 1, because torch's sigmoid takes a fifth of its time. The filters over characters are a sum of three rows for
# each character, which takes a tenth of the time of torch's convolution.


# Spellings and positions that are kept, and their bytes. With the default size of the network, one takes 6.4 KB.
MOST_KEPT: Final = 1 << 14
MOST_BYTES: Final = 128 << 20
# Tokens whose input is summed up at a time, so that it stays in the processor's cache.
CHUNK: Final = 256
# The value of filters at padding, less than any other, so that it is never the highest of a form.
NEVER: Final = -1e9
_SPELLED: Final = [COLUMNS.index(name) for name in OF_FORM]
_PLACED: Final = [at for at in range(len(COLUMNS)) if at not in _SPELLED]

Steps = Sequence[tuple[int, int]]
"""For each step of an LSTM, the first of its tokens and their number."""

Source = tuple[Any, Callable[[Any], Any]]
"""A number for each token, and a function that computes the inputs [chosen, gates] of the tokens with some indexes.
Tokens with the same number have the same inputs."""


class FastScores:
    """Computes the scores of a `network` with features and a single LSTM layer, whose weights must not change."""

    def __init__(self, network: BiLstmCrf) -> None:
        assert network.features is not None
        self._network, self._features = network, network.features
        with torch.inference_mode():
            self._prepare()

    def _prepare(self) -> None:
        network, features = self._network, self._features
        sides = (network.onward[0], network.behind[0])
        weights = torch.cat([_doubled(side.weight_ih_l0) for side in sides]).T
        self._bias = torch.cat([_doubled(side.bias_ih_l0 + side.bias_hh_l0) for side in sides])
        # What the states are multiplied with is negative, since the states are: see _run.
        self._recurrent = [-_doubled(side.weight_hh_l0).T.contiguous() for side in sides]
        self._out = -network.out.weight.T.contiguous()
        tables = [table.weight for table in features.columns]
        widths = [*(table.shape[1] for table in tables), features.filters.out_channels, features.grams.embedding_dim]
        *columns, characters, grams, fixed = weights.split([*widths, len(weights) - sum(widths)])
        self._of_spelling = torch.cat([*(columns[at] for at in _SPELLED), characters, grams])
        self._of_fixed = fixed.contiguous()
        self._placed = torch.cat([tables[at] @ columns[at] for at in _PLACED])
        self._sizes = np.array([len(tables[at]) for at in _PLACED])
        self._starts = np.cumsum([0, *self._sizes[:-1]])
        self._kept = _KeptInputs(len(self._bias))
        # What each character adds to the filters [before, at and behind their middle, characters, filters].
        table = features.characters.weight
        added = torch.stack([table @ weight.T for weight in features.filters.weight.unbind(2)])
        added[1] += features.filters.bias
        added[1, 0] = NEVER
        self._filters = added.flatten(0, 1)
        self._around = torch.arange(len(added)) * len(table)

    def of(self, items: Sequence[Rows]) -> list[Any]:
        """Scores [tokens, tags] of each item, in single precision."""
        order = sorted(range(len(items)), key=lambda at: -len(items[at]))
        chosen = [items[at] for at in order]
        lengths = np.array([len(item) for item in chosen])
        going = (lengths > np.arange(lengths[0])[:, None]).sum(axis=1)
        starts = np.cumsum([0, *going[:-1]])
        # Tokens are ordered by their index in the item. `here`: the location of each token of the items in order.
        here = np.concatenate([starts[:length] + item for item, length in enumerate(lengths)])
        with torch.inference_mode():
            scores = self._scores(chosen, np.argsort(here), list(zip(starts.tolist(), going.tolist(), strict=True)))
        found: list[Any] = [None] * len(items)
        for at, rows in zip(order, np.split(scores.numpy()[here], np.cumsum(lengths)[:-1]), strict=True):
            found[at] = rows
        return found

    def _scores(self, items: Sequence[Rows], back: Any, steps: Steps) -> Any:
        """Scores [tokens, tags]. `back`: the number of each token in the items in order."""
        rows = self._kept.found(self._spelled(items), self._located(items))[back]
        fixed = torch.from_numpy(np.concatenate([item.fixed for item in items])[back].astype(np.float32))
        gates = self._recurrent[0].shape[1]
        states = torch.empty((len(back), 2 * len(self._recurrent[0])))
        for side, recurrent in enumerate(self._recurrent):
            weights = self._of_fixed[:, side * gates : (side + 1) * gates]

            def inputs(part: slice, side: int = side, weights: Any = weights) -> Any:
                found = nn.functional.embedding_bag(rows[part], self._kept.rows[side], mode="sum")
                return found.addmm_(fixed[part], weights) if len(weights) else found

            own = states[:, side * len(recurrent) : (side + 1) * len(recurrent)]
            _run(inputs, recurrent, steps if side == 0 else steps[::-1], own)
        return torch.addmm(self._network.out.bias, states, self._out)

    def _spelled(self, items: Sequence[Rows]) -> Source:
        """The spelling of each token, and its inputs."""
        columns, characters, grams, forms = (
            np.concatenate([getattr(item, name) for item in items])
            for name in ("columns", "characters", "grams", "forms")
        )

        def make(chosen: Any) -> Any:
            number, characters_of, grams_of = (
                torch.from_numpy(each[chosen].astype(np.int64)) for each in (columns, characters, grams)
            )
            vectors = [self._features.columns[at](number[:, at]) for at in _SPELLED]
            vectors += [self._of_characters(characters_of), self._features.grams(grams_of)]
            return torch.addmm(self._bias, torch.cat(vectors, dim=1), self._of_spelling)

        return forms, make

    def _of_characters(self, characters: Any) -> Any:
        """The same vectors [forms, filters] as of `Features.spelling`."""
        padded = nn.functional.pad(characters, (1, 1))
        highest = torch.full((len(characters), self._filters.shape[1]), NEVER)
        for at in range(characters.shape[1]):
            here = padded[:, at : at + 3] + self._around
            torch.maximum(highest, nn.functional.embedding_bag(here, self._filters, mode="sum"), out=highest)
        return highest.relu_()

    def _located(self, items: Sequence[Rows]) -> Source:
        """The position of each token, and its inputs."""
        columns = np.concatenate([item.columns for item in items])[:, _PLACED].astype(np.int64)
        codes = np.zeros(len(columns), dtype=np.int64)
        for column, size in zip(columns.T, self._sizes.tolist(), strict=True):
            codes = codes * size + column

        def make(chosen: Any) -> Any:
            rows = torch.from_numpy(columns[chosen] + self._starts)
            return nn.functional.embedding_bag(rows, self._placed, mode="sum")

        return codes, make


class _KeptInputs(dict[tuple[int, int], int]):
    """Inputs of the gates by source and number: the index of their row in `rows` [sides, kept, gates]."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self._width = width // 2
        self._most = min(MOST_KEPT, MOST_BYTES // (4 * width))
        self.rows = self._empty(0)

    def _empty(self, count: int) -> Any:
        return torch.empty((2, count, self._width), dtype=torch.float32)

    def found(self, *sources: Source) -> Any:
        """The row of each token's number in each source [tokens, sources]."""
        distinct = [np.unique(numbers, return_index=True, return_inverse=True) for numbers, _ in sources]
        keys = [[(at, number) for number in numbers.tolist()] for at, (numbers, *_) in enumerate(distinct)]
        new = [[at for at, key in enumerate(some) if key not in self] for some in keys]
        if len(self) + sum(map(len, new)) > self._most:
            self.clear()
            new = [list(range(len(some))) for some in keys]
            # A batch with more keys than are kept has left a larger table.
            if self.rows.shape[1] > self._most:
                self.rows = self._empty(0)
        for (_, make), (_, first, _), some, missing in zip(sources, distinct, keys, new, strict=True):
            if missing:
                self._add([some[at] for at in missing], make(first[missing]))
        rows = [
            np.array([self[key] for key in some])[of.reshape(-1)]
            for some, (_, _, of) in zip(keys, distinct, strict=True)
        ]
        return torch.from_numpy(np.stack(rows, axis=1))

    def _add(self, keys: Sequence[tuple[int, int]], made: Any) -> None:
        begin, past, size = len(self), len(self) + len(keys), self.rows.shape[1]
        if past > size:
            self.rows = torch.cat([self.rows, self._empty(max(past - size, min(size, self._most - size)))], dim=1)
        for side, part in enumerate(made.chunk(2, dim=1)):
            self.rows[side, begin:past] = part
        self.update(zip(keys, range(begin, past), strict=True))


def _doubled(weights: Any) -> Any:
    """Weights of the gates [gates, …] with those of the cell gate doubled, whose tanh is computed as 2σ(2x) - 1."""
    entering, forgetting, cell, output = weights.chunk(4)
    return torch.cat([entering, forgetting, 2 * cell, output])


def _run(inputs: Callable[[slice], Any], recurrent: Any, steps: Steps, out: Any) -> None:
    """Run an LSTM. `inputs` gives the inputs of its gates for some tokens; `out` [tokens, width] receives its states.

    Items that have not begun have the state 0. `cell` has twice the value of each cell: see `_doubled`. The states are
    negative, which saves a step: o - 2oσ(2c) instead of o(2σ(2c) - 1).
    """
    cell = torch.zeros((max(number for _, number in steps), recurrent.shape[0]))
    before, begun = out[:0], 0
    for some in _chunks(steps):
        low = min(some[0][0], some[-1][0])
        gates = inputs(slice(low, max(first + number for first, number in some)))
        for first, number in some:
            own, known = gates[first - low : first - low + number], min(number, begun)
            if known:
                own[:known].addmm_(before[:known], recurrent)
            entering, forgetting, new, output = own.sigmoid_().chunk(4, dim=1)
            kept = cell[:number].mul_(forgetting).sub_(entering, alpha=2).addcmul_(entering, new, value=4)
            before, begun = out[first : first + number], number
            torch.addcmul(output, output, kept.sigmoid(), value=-2, out=before)


def _chunks(steps: Steps) -> Iterator[Steps]:
    """Runs of steps with about CHUNK tokens."""
    first = tokens = 0
    for at, (_, number) in enumerate(steps):
        tokens += number
        if tokens >= CHUNK or at == len(steps) - 1:
            yield steps[first : at + 1]
            first, tokens = at + 1, 0


VERSION: Final = "1"
# Notes or tokens that are read together; the vectors of embeddings are too large for more than one note.
NOTES: Final = 64
TOKENS: Final = 32_768
# On a CPU, a batch holds this many times the tokens that the network itself could hold, since a token takes less memory
# here. The process takes 43 MB more than with 32 notes and half of this.
LIGHT: Final = 8


@dataclass(slots=True)
class _ReadNote:
    """A note with its items, and the path of each item once it is known. `bounds`: see bounds_of."""

    text: str
    bounds: NDArray[np.int64]
    items: list[Item]
    paths: list[TagPath] = field(default_factory=list)


class BiLstmCrfBackend(OnDevice):
    """Predicts with the model at `path`. `embeddings`: the folder of word vectors on this machine; empty without one.

    Without the file of its word vectors, the model knows only the words that it keeps; the revision then names the
    file. Raises BackendError (permanent) for a file that is no such model.
    """

    def __init__(self, path: str, embeddings: str = "", device: str = "auto") -> None:
        model = load_model(Path(path))
        self.name = "bilstm-crf" if model.vocabulary else "bilstm-crf-stacked"
        rules = rules_of(model.card.rules_set) if model.card.rules_set is not None else None
        self._network = model.network
        self._vocabulary, self._tags = model.vocabulary, model.tags
        one_layer = self._network.reprojection is None and len(self._network.onward) == 1
        self._can_be_fast = model.vocabulary is not None and one_layer
        self._fast: FastScores | None = None
        self._stack, lacking = _with_files(model.stack, Path(embeddings) if embeddings else None)
        self.placement = Placement(choose_device(device), self._network, *self._stack.networks)
        vectors = partial(self._stack.vectors, placement=self.placement)
        self._encoder = NoteEncoder(rules, model.lexicon, model.card.grouped, vectors)
        self.label_set = model.card.label_set
        self.labels = model.card.labels
        self._source = f"{self.name}-{model.revision[:8]}"
        self.revision = "-".join([VERSION, model.revision, *([rules.revision] if rules else []), *lacking])

    def predict_marginals(self, texts: Sequence[str]) -> list[Marked]:
        """The spans of each text, and the probabilities of the labels at its tokens."""
        return [self._marked(note) for note in self._notes(texts, every=True)]

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, in order; up to NOTES texts are read together."""
        return map(self._spans, self._notes(texts, every=False))

    def _spans(self, read: _ReadNote) -> list[Span]:
        flat = [value for path in read.paths for value in path.odds]
        tags = [path.tags for path in read.paths]
        tokens = tokens_at(read.bounds.tolist())
        return confident_spans(read.text, tokens, read.items, tags, flat, self._tags, self._source)

    def _marked(self, read: _ReadNote) -> Marked:
        rows = [path.marginals for path in read.paths if path.marginals is not None]
        every = np.concatenate(rows) if rows else np.zeros((0, len(self._tags)))
        tokens = tokens_at(read.bounds.tolist())
        return self._spans(read), Marginals.of_tags(tokens, self._tags.names, every)

    def _notes(self, texts: Iterable[str], *, every: bool) -> Iterator[_ReadNote]:
        """The texts with the best paths of their items, and with `every` the probabilities of all tags."""
        waiting: list[_ReadNote] = []
        tokens, together = 0, NOTES if self._vocabulary else 1
        for text in texts:
            note, tags = self._encoder.rule_tags(text)
            items = self._encoder.items(note, tags, self._vocabulary)
            waiting.append(_ReadNote(text, bounds_of(note.tokens), items))
            tokens += len(note.tokens)
            if len(waiting) == together or tokens >= TOKENS:
                yield from self._tagged(waiting, every=every)
                waiting, tokens = [], 0
        yield from self._tagged(waiting, every=every)

    def _tagged(self, notes: Sequence[_ReadNote], *, every: bool) -> Sequence[_ReadNote]:
        """The notes with the paths of their items, which are added here."""
        items = [item for note in notes for item in note.items]
        paths: list[Any] = [None] * len(items)

        def tag(numbers: Sequence[int]) -> None:
            scores = self._scores([items[at].rows for at in numbers])
            found = self._network.paths(scores, marginals=every)
            for at, path in zip(numbers, found, strict=True):
                paths[at] = path

        light = LIGHT if self._can_be_fast and not self.device.is_gpu else 1
        self.placement.each([len(item) for item in items], tag, light=light)
        left = iter(paths)
        for note in notes:
            note.paths = list(islice(left, len(note.items)))
        return notes

    def _scores(self, items: Sequence[Rows]) -> Iterable[Any]:
        """Scores [tokens, tags] of each item."""
        if self._can_be_fast and not self.device.is_gpu and self.device.dtype == torch.float32:
            self._fast = self._fast or FastScores(self._network)
            return self._fast.of(items)
        with self.device.precision():
            return self._network.scores(items, self.device.name)


def _with_files(stack: Stack, folder: Path | None) -> tuple[Stack, list[str]]:
    """The embeddings with the files of their words from the folder, and what is wrong with files."""
    parts: list[Embedding] = []
    lacking = []
    for part in stack.parts:
        if isinstance(part, Words):
            part, why = with_file(part, folder)
            lacking += [f"{part.source.name} {why}"] if why else []
        parts.append(part)
    return Stack(parts), lacking
