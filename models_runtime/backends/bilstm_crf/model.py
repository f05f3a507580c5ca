"""A trained BiLSTM-CRF on disk (models_runtime.backends.files): safetensors weights, no pickle.

Our own code builds the network from the sizes in the card and the vocabulary; no code from the file is run. The file
holds its language models whole. Of word vectors it holds those of the training words and of the most frequent words,
with the name and sha256 of their file: with that file, unknown words get their vectors too.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from annotations.text.wording import gettext as _
from models_runtime.backends import files
from models_runtime.backends.bilstm_crf.embeddings import Contexts, Embedding, Source, Stack, Words
from models_runtime.backends.bilstm_crf.inputs import BUCKETS, COLUMNS, UNSEEN, WIDTHS, Rows, Vocabulary
from models_runtime.backends.characters import characters_of
from models_runtime.backends.crf.paths import Path as TagPath
from models_runtime.backends.crf.paths import likeliest
from models_runtime.backends.neural.crf import Crf, Tags, bidirectional, locked
from models_runtime.backends.neural.learning import IGNORED

# The network (after Catelli 2021): a token's vectors side by side, a bidirectional LSTM, a CRF.
#
# The vectors are learned from features of a token, or fixed (stacked embeddings, section 3.2.1), or both. Each layer
# behind them can be left out for an ablation (sections 4.1.3 and 4.2.2). Without the LSTM, a linear layer scores the
# tags; without the CRF, the tag of each token is the one with the highest probability (softmax).


CHARACTER: Final = 30
FILTERS: Final = 50
GRAM: Final = 60


@dataclass(frozen=True)
class Shape:
    """Sizes of the network. `sizes`: how many different numbers each column of the features has; None without features.

    `fixed`: number of fixed values per token. `hidden`: the width of each LSTM; `layers`: how many lie above one
    another.
    """

    sizes: dict[str, int] | None
    fixed: int
    hidden: int
    layers: int = 1
    reprojection: bool = False
    lstm: bool = True
    crf: bool = True


class Features(nn.Module):  # type: ignore[misc]  # torch has no types where it is not installed
    """Vectors of a token that are learned: of its columns, its characters and its sub-words."""

    WIDTH: Final = sum(WIDTHS.values()) + FILTERS + GRAM

    def __init__(self, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.columns = nn.ModuleList(
            nn.Embedding(sizes[name], WIDTHS[name], padding_idx=0 if name == "word" else None) for name in COLUMNS
        )
        self.characters = nn.Embedding(sizes["character"], CHARACTER, padding_idx=0)
        self.filters = nn.Conv1d(CHARACTER, FILTERS, 3, padding=1)
        self.grams = nn.EmbeddingBag(BUCKETS, GRAM, mode="mean", padding_idx=0)

    def forward(self, batch: Mapping[str, Any], gone: Any) -> list[Any]:
        """Vectors [items, tokens, values]. `gone`: the tokens whose word is replaced by UNSEEN; None for no token."""
        columns = batch["columns"]
        if gone is not None:
            gone = gone & (columns[:, :, 0] > 0)
            columns = torch.cat([columns[:, :, :1].masked_fill(gone[:, :, None], UNSEEN), columns[:, :, 1:]], dim=2)
        vectors = [table(columns[:, :, at]) for at, table in enumerate(self.columns)]
        # Computed once for each distinct form in the batch.
        return [*vectors, *(each[batch["form"]] for each in self.spelling(batch["characters"], batch["grams"]))]

    def spelling(self, characters: Any, grams: Any) -> list[Any]:
        """Vectors [forms, values] from the characters [forms, CHARACTERS] and from the n-grams [forms, GRAMS]."""
        forms = self.filters(self.characters(characters).transpose(1, 2))
        empty = characters[:, None, :] == 0
        return [torch.relu(forms.masked_fill(empty, float("-inf")).amax(dim=2).clamp(min=-1e4)), self.grams(grams)]


class BiLstmCrf(nn.Module):  # type: ignore[misc]  # torch has no types where it is not installed
    """Scores [items, tokens, tags] of items in a batch (see `batch`).

    `word_dropout`: the share of tokens that lose their word in training, so that the vector of unseen words is learned
    too; without features, they lose all values.
    """

    def __init__(self, shape: Shape, tags: Tags, *, word_dropout: float = 0.0, dropout: float = 0.0) -> None:
        super().__init__()
        self.word_dropout, self.dropout = word_dropout, dropout
        self.features = Features(shape.sizes) if shape.sizes is not None else None
        width = shape.fixed + (Features.WIDTH if self.features is not None else 0)
        self.reprojection = nn.Linear(width, width) if shape.reprojection else None
        widths = [width, *[2 * shape.hidden] * (shape.layers - 1)] if shape.lstm else []
        self.onward = nn.ModuleList(nn.LSTM(each, shape.hidden, batch_first=True) for each in widths)
        self.behind = nn.ModuleList(nn.LSTM(each, shape.hidden, batch_first=True) for each in widths)
        self.out = nn.Linear(2 * shape.hidden if shape.lstm else width, len(tags))
        self.crf = Crf(tags) if shape.crf else None

    def forward(self, batch: Mapping[str, Any]) -> Any:
        shown, gone = batch["fixed"], None
        if self.training and self.word_dropout:
            gone = torch.rand(shown.shape[:2], device=shown.device) < self.word_dropout
        if self.features is not None:
            shown = torch.cat([*self.features(batch, gone), shown], dim=2)
        elif gone is not None:
            shown = shown * ~gone[:, :, None]
        shown = locked(shown, self.dropout, training=self.training)
        if self.reprojection is not None:
            shown = self.reprojection(shown)
        for onward, behind in zip(self.onward, self.behind, strict=True):
            shown = torch.cat(bidirectional(onward, behind, shown, batch["lengths"]), dim=2)
        if len(self.onward):
            shown = locked(shown, self.dropout, training=self.training)
        return self.out(shown)

    def loss(self, scores: Any, mask: Any, target: Any, weights: Any) -> Any:
        """The loss of the right tags, summed over items by `weights` [items]: of paths, or without a CRF of tags."""
        if self.crf is not None:
            return self.crf.loss(scores, mask, target, weights)
        right = target.where(mask, IGNORED)
        losses = nn.functional.cross_entropy(
            scores.float().transpose(1, 2), right, ignore_index=IGNORED, reduction="none"
        )
        return (weights[:, None] * losses).sum()

    def scores(self, items: Sequence[Rows], device: str) -> list[Any]:
        """Scores [tokens, tags] of each item (numpy)."""
        with torch.inference_mode():
            scores = self(batch(items, device)).float().cpu().numpy()
        return [row[: len(item)] for row, item in zip(scores, items, strict=True)]

    def paths(self, scores: Iterable[Any], *, marginals: bool = False) -> list[TagPath]:
        """The best path of each item: of valid tags, or without a CRF of the likeliest tag of each token."""
        return likeliest(scores) if self.crf is None else self.crf.paths(scores, marginals=marginals)


def batch(items: Sequence[Rows], device: str) -> dict[str, Any]:
    """Items as tensors, padded with 0; each distinct form once. `mask`: True for tokens, False for padding."""
    lengths = torch.tensor([len(item) for item in items])
    made = {"fixed": _padded([item.fixed for item in items]).float(), "lengths": lengths}
    if items[0].columns is not None:
        made |= _of_features(items, lengths.tolist())
    found = {name: value.to(device) for name, value in made.items()}
    mask = torch.arange(int(lengths.max()), device=device)[None, :] < found["lengths"][:, None]
    return found | {"mask": mask}


def _of_features(items: Sequence[Rows], lengths: Sequence[int]) -> dict[str, Any]:
    spelling = np.concatenate([np.concatenate([item.characters, item.grams], axis=1) for item in items])
    # The form of the padding is the first one.
    spelling = np.concatenate([np.zeros((1, spelling.shape[1]), dtype=spelling.dtype), spelling])
    distinct, inverse = np.unique(spelling, axis=0, return_inverse=True)
    padding, *forms = np.split(inverse.reshape(-1), np.cumsum([1, *lengths[:-1]]))
    width = items[0].characters.shape[1]
    return {
        "columns": _padded([item.columns for item in items]).long(),
        "form": _padded(forms, int(padding[0])).long(),
        "characters": torch.from_numpy(distinct[:, :width].astype(np.int64)),
        "grams": torch.from_numpy(distinct[:, width:].astype(np.int64)),
    }


def _padded(rows: Sequence[Any], padding: int = 0) -> Any:
    return pad_sequence([torch.from_numpy(row) for row in rows], batch_first=True, padding_value=padding)


# Of models with features, and of those with embeddings alone.
FORMAT: Final = "deidreview-bilstm-crf-1"
STACKED_FORMAT: Final = "deidreview-stacked-1"
MOST_HIDDEN: Final = 2048
MOST_LAYERS: Final = 8
MOST_LABELS: Final = 500
MOST_GROUPED: Final = 32
MOST_EMBEDDINGS: Final = 16
MOST_DIMENSIONS: Final = 20_000
# Prefixes of the tensors of the network and of each embedding.
NETWORK: Final = "network."
EMBEDDING: Final = "embedding."


@dataclass(frozen=True, slots=True)
class Card(files.FileCard):
    """Description of a model. `grouped`: the sentence grouping factor (Catelli 2021).

    `rules_set`: the label set of the rules whose tags are features, empty without rules, None without features.
    `hidden`: the width of each LSTM. `embeddings`: where the fixed vectors come from.
    """

    rules_set: str | None
    grouped: int
    hidden: int
    layers: int
    reprojection: bool
    lstm: bool
    crf: bool
    embeddings: tuple[Source, ...]

    def shape(self, vocabulary: Vocabulary | None) -> Shape:
        fixed = sum(each.dimensions for each in self.embeddings)
        sizes = vocabulary.sizes() if vocabulary else None
        return Shape(sizes, fixed, self.hidden, self.layers, self.reprojection, self.lstm, self.crf)


def save_model(
    path: Path,
    card: Card,
    network: BiLstmCrf,
    stack: Stack,
    vocabulary: Vocabulary | None,
    lexicon: Mapping[str, list[str]],
) -> str:
    """Write a model and return the sha256 of its file. The same content gives the same file."""
    state = {f"{NETWORK}{name}": value for name, value in network.state_dict().items()}
    inside: list[Any] = []
    for number, part in enumerate(stack.parts):
        prefix = f"{EMBEDDING}{number}."
        if isinstance(part, Contexts):
            state |= {f"{prefix}{name}": value for name, value in part.characters.state_dict().items()}
            inside.append(part.characters.alphabet)
        elif isinstance(part, Words):
            words = sorted(part.kept)
            rows = np.array([part.kept[word] for word in words], dtype=np.float16)
            state[f"{prefix}words"] = torch.from_numpy(rows.reshape(len(words), part.source.dimensions))
            inside.append(words)
    tensors = {name: value.detach().cpu().contiguous() for name, value in state.items()}
    header = {"embeddings": inside, "vocabulary": vocabulary.as_data() if vocabulary else None}
    # A single entry, because safetensors writes several entries in random order.
    return files.save(path, card, save(tensors, {"inputs": json.dumps(header, sort_keys=True)}), lexicon)


@dataclass(frozen=True, slots=True)
class LoadedTagger:
    """A loaded model. `revision` changes with every byte of its file. `vocabulary`: None without features."""

    card: Card
    tags: Tags
    lexicon: dict[str, tuple[str, ...]]
    vocabulary: Vocabulary | None
    network: BiLstmCrf
    stack: Stack
    revision: str


def load_model(path: Path) -> LoadedTagger:
    """Load a model. Raises BackendError (permanent) if the file is missing, damaged or of another format."""
    data, lexicon, content = files.unpack(path, FORMAT, or_format=STACKED_FORMAT)
    card = _card(path, data)
    tags = Tags.of(card.labels)
    try:
        inputs = json.loads(files.header(content)["inputs"])
        vocabulary = Vocabulary.read(inputs["vocabulary"]) if card.format == FORMAT else None
        tensors = load(content)
        parts = [
            _embedding(source, alphabet_or_words, _under(tensors, f"{EMBEDDING}{number}."))
            for number, (source, alphabet_or_words) in enumerate(
                zip(card.embeddings, inputs["embeddings"], strict=True)
            )
        ]
        network = BiLstmCrf(card.shape(vocabulary), tags)
        network.load_state_dict(_under(tensors, NETWORK))
    except (ValueError, LookupError, TypeError, AttributeError, RuntimeError, SafetensorError) as error:
        raise files.refused(
            path, card.format, _("its weights don't fit its card ({error})", type(error).__name__)
        ) from None
    return LoadedTagger(card, tags, lexicon, vocabulary, network.eval(), Stack(parts), files.digest(path)[:12])


def _under(tensors: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _embedding(source: Source, inside: Any, tensors: Mapping[str, Any]) -> Embedding:
    """An embedding of the file. `inside`: an alphabet, or a list of words. Raises various errors if it doesn't fit."""
    if source.kind == "characters":
        return Contexts(source, characters_of(inside, tensors, source.dimensions // 2))
    rows = tensors["words"].numpy()
    if rows.shape != (len(inside), source.dimensions) or not all(isinstance(word, str) for word in inside):
        raise ValueError("the words don't fit their vectors")
    return Words(source, dict(zip(inside, rows.astype(np.float16), strict=True)))


def _card(path: Path, data: dict[str, Any]) -> Card:
    card = files.card_from(path, Card, data, embeddings=lambda parts: tuple(Source(**each) for each in parts))
    sources = card.embeddings
    texts = [text for source in sources for text in (source.name, source.kind, source.sha256)]
    rules = [card.rules_set] if card.format == FORMAT else []
    files.check_words(path, card.format, (*rules, *texts), card.labels)
    # A name is looked up in the folder of word vectors, and must not lead out of it.
    if not all(source.kind == "characters" or _is_plain(source) for source in sources):
        raise files.refused(path, card.format, _("an embedding in its card has an unknown kind or no plain file name"))
    limits = [
        (card.hidden, MOST_HIDDEN),
        (card.layers, MOST_LAYERS),
        (card.grouped, MOST_GROUPED),
        (len(card.labels), MOST_LABELS),
        (len(sources) + len(rules), MOST_EMBEDDINGS),
        *((source.dimensions, MOST_DIMENSIONS) for source in sources),
    ]
    if not all(type(value) is int and 0 < value <= most for value, most in limits):
        raise files.refused(path, card.format, _("a number in its card is out of range"))
    if not all(type(switch) is bool for switch in (card.reprojection, card.lstm, card.crf)):
        raise files.refused(path, card.format, _("a switch in its card is neither true nor false"))
    return card


def _is_plain(source: Source) -> bool:
    return source.kind == "words" and source.name not in ("", ".", "..") and not set(source.name) & set("/\\\0")
