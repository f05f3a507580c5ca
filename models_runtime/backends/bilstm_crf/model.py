"""A trained BiLSTM-CRF on disk (models_runtime.backends.files): safetensors weights, no pickle.

Our own code builds the network from the sizes in the card and the vocabulary; no code from the file is run. The file
holds its language models whole. Of word vectors it holds those of the training words and of the most frequent words,
with the name and sha256 of their file: with that file, unknown words get their vectors too.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from models_runtime.backends import files
from models_runtime.backends.bilstm_crf.embeddings import Contexts, Embedding, Source, Stack, Words
from models_runtime.backends.bilstm_crf.network import BiLstmCrf, Shape
from models_runtime.backends.bilstm_crf.vocabulary import Vocabulary
from models_runtime.backends.characters.model import characters_of
from models_runtime.backends.neural.tags import Tags

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
class Card:
    """Description of a model. `grouped`: the sentence grouping factor (Catelli 2021).

    `rules_set`: the label set of the rules whose tags are features, empty without rules, None without features.
    `hidden`: the width of each LSTM. `embeddings`: where the fixed vectors come from.
    """

    label_set: str
    labels: tuple[str, ...]
    algorithm: str
    rules_set: str | None
    grouped: int
    hidden: int
    layers: int
    reprojection: bool
    lstm: bool
    crf: bool
    embeddings: tuple[Source, ...]
    notes: int
    iterations: int
    format: str

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
class Loaded:
    """A loaded model. `revision` changes with every byte of its file. `vocabulary`: None without features."""

    card: Card
    tags: Tags
    lexicon: dict[str, tuple[str, ...]]
    vocabulary: Vocabulary | None
    network: BiLstmCrf
    stack: Stack
    revision: str


def load_model(path: Path) -> Loaded:
    """Load a model. Raises BackendError (permanent) for a missing, damaged or foreign file."""
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
        raise files.refused(path, card.format, f"its weights don't fit its card ({type(error).__name__})") from None
    return Loaded(card, tags, lexicon, vocabulary, network.eval(), Stack(parts), files.digest(path)[:12])


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
    files.check_words(path, card.format, (card.label_set, card.algorithm, *rules, *texts), card.labels)
    # A name is looked up in the folder of word vectors, and must not lead out of it.
    if not all(source.kind == "characters" or _is_plain(source) for source in sources):
        raise files.refused(path, card.format, "an embedding in its card has an unknown kind or no plain file name")
    limits = [
        (card.hidden, MOST_HIDDEN),
        (card.layers, MOST_LAYERS),
        (card.grouped, MOST_GROUPED),
        (len(card.labels), MOST_LABELS),
        (len(sources) + len(rules), MOST_EMBEDDINGS),
        *((source.dimensions, MOST_DIMENSIONS) for source in sources),
    ]
    if not all(type(value) is int and 0 < value <= most for value, most in limits):
        raise files.refused(path, card.format, "a number in its card is out of range")
    if not all(type(switch) is bool for switch in (card.reprojection, card.lstm, card.crf)):
        raise files.refused(path, card.format, "a switch in its card is neither true nor false")
    return card


def _is_plain(source: Source) -> bool:
    return source.kind == "words" and source.name not in ("", ".", "..") and not set(source.name) & set("/\\\0")
