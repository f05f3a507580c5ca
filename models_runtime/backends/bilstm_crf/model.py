"""A trained BiLSTM-CRF on disk (models_runtime.backends.files): weights as safetensors, the vocabulary in their header.

The network is built from the card's and the vocabulary's sizes by our own code; nothing in the file is ever run.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from safetensors import SafetensorError
from safetensors.torch import load, save

from models_runtime.backends import files
from models_runtime.backends.bilstm_crf.network import BiLstmCrf, Shape
from models_runtime.backends.bilstm_crf.vocabulary import Vocabulary
from models_runtime.backends.neural.tags import Tags

FORMAT: Final = "deidreview-bilstm-crf-1"
WEIGHTS: Final = "weights.safetensors"
MOST_HIDDEN: Final = 2048
MOST_LABELS: Final = 500
MOST_GROUPED: Final = 32


@dataclass(frozen=True, slots=True)
class Card:
    """What a model says of itself. `rules_set` is the label set in which the rules spoke to it.

    `grouped` sentences were one sequence (002's sentence grouping factor); `hidden` is the width of each LSTM.
    """

    label_set: str
    labels: tuple[str, ...]
    algorithm: str
    rules_set: str
    grouped: int
    hidden: int
    notes: int
    iterations: int
    format: str = FORMAT


def save_model(
    path: Path, card: Card, network: BiLstmCrf, vocabulary: Vocabulary, lexicon: Mapping[str, list[str]]
) -> str:
    """Write a model; returns the sha256 of its file. The same content gives the same file."""
    tensors = {name: value.detach().cpu().contiguous() for name, value in network.state_dict().items()}
    return files.pack(
        path,
        {
            files.CARD: files.as_json(asdict(card)),
            files.LEXICON: files.as_json(lexicon),
            WEIGHTS: save(tensors, {"vocabulary": json.dumps(vocabulary.as_data(), sort_keys=True)}),
        },
    )


@dataclass(frozen=True, slots=True)
class Loaded:
    """A loaded model; `revision` changes with every byte of it."""

    card: Card
    tags: Tags
    lexicon: dict[str, tuple[str, ...]]
    vocabulary: Vocabulary
    network: BiLstmCrf
    revision: str


def load_model(path: Path) -> Loaded:
    """Raises BackendError (permanent) for what is missing, no model of this kind, or damaged."""
    data, lexicon, content = files.unpack(path, FORMAT, WEIGHTS)
    card = _card(path, data)
    tags = Tags.of(card.labels)
    try:
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        vocabulary = Vocabulary.read(json.loads(header["__metadata__"]["vocabulary"]))
        network = BiLstmCrf(Shape(vocabulary.sizes(), hidden=card.hidden), tags)
        network.load_state_dict(load(content))
    except (ValueError, LookupError, TypeError, AttributeError, RuntimeError, SafetensorError) as error:
        raise files.refused(path, FORMAT, f"its weights don't fit its card ({type(error).__name__})") from None
    return Loaded(card, tags, lexicon, vocabulary, network.eval(), files.digest(path)[:12])


def _card(path: Path, data: dict[str, Any]) -> Card:
    try:
        card = Card(**data | {"labels": tuple(data["labels"])})
    except (TypeError, KeyError):
        raise files.refused(path, FORMAT, "its card has other fields than a model's") from None
    files.check_words(path, FORMAT, (card.label_set, card.algorithm, card.rules_set), card.labels)
    limits = ((card.hidden, MOST_HIDDEN), (card.grouped, MOST_GROUPED), (len(card.labels), MOST_LABELS))
    if not all(type(value) is int and 0 < value <= most for value, most in limits):
        raise files.refused(path, FORMAT, "a size in its card is out of bounds")
    return card
