"""A character language model on disk (models_runtime.backends.files): safetensors weights, the alphabet in a header.

The file holds the two LSTMs, not the layers that predict characters, so that no sentence of a note can be read back.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from safetensors import SafetensorError
from safetensors.torch import load, save

from models_runtime.backends import files
from models_runtime.backends.characters.network import Characters

FORMAT: Final = "deidreview-characters-1"
MOST_WIDTH: Final = 2048
MOST_ALPHABET: Final = 20_000


@dataclass(frozen=True, slots=True)
class LanguageModelCard:
    """Description of a language model. `labels` is empty: it suggests no spans. `width`: the width of each LSTM."""

    label_set: str
    labels: tuple[str, ...]
    algorithm: str
    width: int
    notes: int
    iterations: int
    format: str = FORMAT


def save_model(path: Path, card: LanguageModelCard, characters: Characters) -> str:
    """Write a model and return the sha256 of its file. The same content gives the same file."""
    tensors = {name: value.detach().cpu().contiguous() for name, value in characters.state_dict().items()}
    header = {"alphabet": json.dumps(characters.alphabet)}
    return files.save(path, card, save(tensors, header))


def load_model(path: Path) -> tuple[LanguageModelCard, Characters]:
    """Load a model. Raises BackendError (permanent) for a missing, damaged or foreign file."""
    data, _, content = files.unpack(path, FORMAT)
    card = files.card_from(path, LanguageModelCard, data)
    files.check_words(path, FORMAT, (card.label_set, card.algorithm), card.labels)
    try:
        characters = characters_of(json.loads(files.header(content)["alphabet"]), load(content), card.width)
    except (ValueError, LookupError, TypeError, AttributeError, RuntimeError, SafetensorError) as error:
        raise files.refused(path, FORMAT, f"its weights don't fit its card ({type(error).__name__})") from None
    return card, characters


def characters_of(alphabet: Any, tensors: Mapping[str, Any], width: Any) -> Characters:
    """The language model of these tensors. Raises various errors for values that don't fit."""
    if not (type(width) is int and 0 < width <= MOST_WIDTH):
        raise ValueError("the width is out of range")
    if not (isinstance(alphabet, str) and len(alphabet) <= MOST_ALPHABET):
        raise ValueError("the alphabet is out of range")
    found = Characters(alphabet, width)
    found.load_state_dict(dict(tensors))
    found.eval()
    return found
