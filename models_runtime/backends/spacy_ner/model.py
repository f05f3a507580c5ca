"""A trained spaCy model on disk (models_runtime.backends.files), with safetensors weights.

Our own code builds the network from the sizes in the card; no configuration or code from the file is run.
"""

import re
from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, Final

from spacy.language import Language

from models_runtime.backends import files
from models_runtime.backends.spacy_ner import weights
from models_runtime.backends.spacy_ner.network import Sizes, blank, recognizer

FORMAT: Final = "deidreview-spacy-1"
LARGEST: Final = 1024
LANGUAGE: Final = re.compile("[a-z]{2,3}")
MOST_LABELS: Final = 500


@dataclass(frozen=True, slots=True)
class Card:
    """Description of a model. `rules_set`: the label set of the rules whose tags are features, empty without them."""

    label_set: str
    labels: tuple[str, ...]
    algorithm: str
    rules_set: str
    language: str
    sizes: Sizes
    notes: int
    iterations: int
    format: str = FORMAT


def save(path: Path, card: Card, tensors: weights.Tensors, lexicon: Mapping[str, list[str]]) -> str:
    """Write a model and return the sha256 of its file. The same content gives the same file."""
    return files.save(path, card, weights.to_bytes(tensors), lexicon)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A loaded model. `revision` changes with every byte of its file."""

    card: Card
    lexicon: dict[str, tuple[str, ...]]
    nlp: Language
    revision: str


def load_model(path: Path) -> Loaded:
    """Load a model. Raises BackendError (permanent) for a missing, damaged or foreign file."""
    data, lexicon, content = files.unpack(path, FORMAT)
    card = _card(path, data)
    tensors = weights.from_bytes(content)
    try:
        nlp = blank(card.language, card.labels, card.sizes)
        weights.put(recognizer(nlp), tensors)
    except ValueError as error:
        raise files.refused(path, FORMAT, str(error)) from None
    except ImportError as error:
        raise files.refused(path, FORMAT, f"spaCy can't load its language ({error})") from None
    return Loaded(card, lexicon, nlp, files.digest(path)[:12])


def _card(path: Path, data: dict[str, Any]) -> Card:
    card = files.card_from(path, Card, data, sizes=lambda sizes: Sizes(**sizes))
    files.check_words(path, FORMAT, (card.label_set, card.algorithm, card.rules_set, card.language), card.labels)
    sizes = astuple(card.sizes)
    if not all(type(size) is int and 0 < size <= LARGEST for size in sizes) or len(sizes) != len(fields(Sizes)):
        raise files.refused(path, FORMAT, f"its sizes must be whole numbers up to {LARGEST}")
    if not LANGUAGE.fullmatch(card.language):
        raise files.refused(path, FORMAT, "its language must be a code of two or three letters")
    if not 0 < len(card.labels) <= MOST_LABELS:
        raise files.refused(path, FORMAT, f"it must have 1 to {MOST_LABELS} labels")
    return card
