"""A trained BiLSTM-CRF on disk (models_runtime.backends.files): safetensors weights, the vocabulary in their header.

Our own code builds the network from the sizes in the card and the vocabulary; no code from the file is run.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from safetensors import SafetensorError
from safetensors.torch import load, save

from models_runtime.backends import files
from models_runtime.backends.bilstm_crf.characters import Characters
from models_runtime.backends.bilstm_crf.network import BiLstmCrf, Shape
from models_runtime.backends.bilstm_crf.vocabulary import Vocabulary
from models_runtime.backends.neural.tags import Tags

FORMAT: Final = "deidreview-bilstm-crf-1"
WEIGHTS: Final = "weights.safetensors"
MOST_HIDDEN: Final = 2048
MOST_LABELS: Final = 500
MOST_GROUPED: Final = 32
# Prefix of the tensors of the character language model.
LANGUAGE: Final = "language."
# Key of the character language model's alphabet, next to the vocabulary.
ALPHABET: Final = "alphabet"


@dataclass(frozen=True, slots=True)
class Card:
    """Description of a model. `rules_set`: the label set of the rules whose tags are features, empty without them.

    `grouped`: the sentence grouping factor (Catelli 2021). `hidden`: the width of each LSTM.
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
    path: Path,
    card: Card,
    network: BiLstmCrf,
    vocabulary: Vocabulary,
    lexicon: Mapping[str, list[str]],
    characters: Characters | None = None,
) -> str:
    """Write a model and return the sha256 of its file. The same content gives the same file."""
    state = dict(network.state_dict())
    header = vocabulary.as_data()
    if characters is not None:
        state |= {f"{LANGUAGE}{name}": value for name, value in characters.state_dict().items()}
        header[ALPHABET] = characters.alphabet
    tensors = {name: value.detach().cpu().contiguous() for name, value in state.items()}
    return files.pack(
        path,
        {
            files.CARD: files.as_json(asdict(card)),
            files.LEXICON: files.as_json(lexicon),
            # A single entry, because safetensors writes several entries in random order.
            WEIGHTS: save(tensors, {"vocabulary": json.dumps(header, sort_keys=True)}),
        },
    )


@dataclass(frozen=True, slots=True)
class Loaded:
    """A loaded model. `revision` changes with every byte of its file. `characters`: its language model, if any."""

    card: Card
    tags: Tags
    lexicon: dict[str, tuple[str, ...]]
    vocabulary: Vocabulary
    network: BiLstmCrf
    characters: Characters | None
    revision: str


def load_model(path: Path) -> Loaded:
    """Load a model. Raises BackendError (permanent) for a missing, damaged or foreign file."""
    data, lexicon, content = files.unpack(path, FORMAT, WEIGHTS)
    card = _card(path, data)
    tags = Tags.of(card.labels)
    try:
        data = json.loads(files.header(content)["vocabulary"])
        alphabet = data.pop(ALPHABET, None)
        vocabulary = Vocabulary.read(data)
        tensors = load(content)
        characters = _characters(alphabet, tensors) if alphabet is not None else None
        context = 2 * characters.width if characters else 0
        network = BiLstmCrf(Shape(vocabulary.sizes(), hidden=card.hidden, context=context), tags)
        network.load_state_dict({name: value for name, value in tensors.items() if not name.startswith(LANGUAGE)})
    except (ValueError, LookupError, TypeError, AttributeError, RuntimeError, SafetensorError) as error:
        raise files.refused(path, FORMAT, f"its weights don't fit its card ({type(error).__name__})") from None
    return Loaded(card, tags, lexicon, vocabulary, network.eval(), characters, files.digest(path)[:12])


def _characters(alphabet: str, tensors: Mapping[str, Any]) -> Characters:
    """The language model, with the width of its tensors. Raises various errors for tensors that don't fit."""
    own = {name.removeprefix(LANGUAGE): value for name, value in tensors.items() if name.startswith(LANGUAGE)}
    width = int(own["onward.weight_hh_l0"].shape[1])
    if not 0 < width <= MOST_HIDDEN:
        raise ValueError("the language model is too wide")
    found = Characters(alphabet, width)
    found.load_state_dict(own)
    found.eval()
    return found


def _card(path: Path, data: dict[str, Any]) -> Card:
    try:
        card = Card(**data | {"labels": tuple(data["labels"])})
    except (TypeError, KeyError):
        raise files.refused(path, FORMAT, "its card has missing or unknown fields") from None
    files.check_words(path, FORMAT, (card.label_set, card.algorithm, card.rules_set), card.labels)
    limits = ((card.hidden, MOST_HIDDEN), (card.grouped, MOST_GROUPED), (len(card.labels), MOST_LABELS))
    if not all(type(value) is int and 0 < value <= most for value, most in limits):
        raise files.refused(path, FORMAT, "a number in its card is out of range")
    return card
