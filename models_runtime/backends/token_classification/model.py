"""A trained transformer on disk (models_runtime.backends.files).

The safetensors header contains the configuration and the tokenizer. The network is the library's own implementation of
the named architecture; no code from the file is run.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from safetensors import SafetensorError
from safetensors.torch import load, save
from transformers import CONFIG_MAPPING, AutoModelForMaskedLM, AutoModelForTokenClassification

from models_runtime.backends import files
from models_runtime.backends.neural.tags import Tags
from models_runtime.backends.token_classification.encoding import Pieces
from models_runtime.backends.token_classification.reading import Reading

FORMAT: Final = "deidreview-transformer-1"
MASKED_FORMAT: Final = "deidreview-masked-lm-1"


@dataclass(frozen=True, slots=True)
class TransformerCard:
    """Description of a model. `base`: the folder of its starting weights. The last fields are those of Reading."""

    label_set: str
    labels: tuple[str, ...]
    algorithm: str
    base: str
    notes: int
    iterations: int
    format: str = FORMAT
    chunks: str = "overlapping"
    decoding: str = "path"
    grouped: int = 0

    @property
    def reading(self) -> Reading:
        return Reading(self.chunks, self.decoding, self.grouped)


@dataclass(frozen=True, slots=True)
class MaskedCard:
    """Description of a masked language model, which has no labels. `base`: the folder of its starting weights."""

    algorithm: str
    base: str
    notes: int
    iterations: int
    label_set: str = ""
    labels: tuple[str, ...] = ()
    format: str = MASKED_FORMAT


def save_model(path: Path, card: TransformerCard | MaskedCard, network: Any, tokenizer: str) -> str:
    """Write a model and return the sha256 of its file. The same content gives the same file."""
    tensors = {name: value.detach().cpu().contiguous().clone() for name, value in network.state_dict().items()}
    config = network.config.to_diff_dict() | {"model_type": network.config.model_type}
    # A single entry, because safetensors writes several entries in random order.
    header = json.dumps({"config": config, "tokenizer": tokenizer}, sort_keys=True)
    return files.save(path, card, save(tensors, {"said": header}))


@dataclass(frozen=True)
class Loaded:
    """A loaded model. `revision` changes with every byte of its file."""

    card: TransformerCard
    tags: Tags
    pieces: Pieces
    network: Any
    revision: str


def load_model(path: Path) -> Loaded:
    """Load a model. Raises BackendError (permanent) for a missing, damaged or foreign file."""
    data, _, content = files.unpack(path, FORMAT)
    card = _card(path, data)
    tags = Tags.of(card.labels)
    network, tokenizer = _network(path, FORMAT, content, AutoModelForTokenClassification, num_labels=len(tags))
    return Loaded(card, tags, Pieces(tokenizer, card.reading.grouped), network, files.digest(path)[:12])


@dataclass(frozen=True)
class LoadedMasked:
    """A loaded masked language model."""

    card: MaskedCard
    pieces: Pieces
    network: Any


def load_masked(path: Path) -> LoadedMasked:
    """Load a masked language model. Raises BackendError (permanent) for a missing, damaged or foreign file."""
    data, _, content = files.unpack(path, MASKED_FORMAT)
    card = files.card_from(path, MaskedCard, data)
    files.check_words(path, MASKED_FORMAT, (card.algorithm, card.base, card.label_set), card.labels)
    network, tokenizer = _network(path, MASKED_FORMAT, content, AutoModelForMaskedLM)
    return LoadedMasked(card, Pieces(tokenizer), network)


def _network(path: Path, format: str, content: bytes, kind: Any, **changes: Any) -> tuple[Any, str]:
    """The network in the content of a weights member, and its tokenizer. `changes`: of the configuration."""
    try:
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        said = json.loads(header["__metadata__"]["said"])
        config, tokenizer = said["config"], said["tokenizer"]
        made = CONFIG_MAPPING[config.pop("model_type")](**config | changes)
        network = kind.from_config(made)  # This uses SDPA if the architecture supports it.
        network.load_state_dict(load(content))
    except (ValueError, LookupError, TypeError, AttributeError, RuntimeError, SafetensorError) as error:
        raise files.refused(path, format, f"its weights don't fit its configuration ({type(error).__name__})") from None
    return network.eval(), tokenizer


def _card(path: Path, data: dict[str, Any]) -> TransformerCard:
    card = files.card_from(path, TransformerCard, data)
    words = (card.label_set, card.algorithm, card.base, card.chunks, card.decoding)
    files.check_words(path, FORMAT, words, card.labels)
    return card
