"""A trained CRF on disk (models_runtime.backends.files). `model.crfsuite` contains the weights in crfsuite's format."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from annotations.domain.bio import OUTSIDE, split_tag
from models_runtime.backends import files
from models_runtime.backends.base import BackendError
from models_runtime.backends.crf.weights import MAGIC, Weights, read_weights

FORMAT: Final = "deidreview-crf-1"
WEIGHTS: Final = "model.crfsuite"


@dataclass(frozen=True, slots=True)
class Card:
    """Description of a model. `rules_set`: the label set of the rules whose tags are features."""

    label_set: str
    labels: tuple[str, ...]
    algorithm: str
    rules_set: str
    notes: int
    iterations: int
    format: str = FORMAT


def save(path: Path, card: Card, weights: Path, lexicon: Mapping[str, list[str]]) -> str:
    """Write a model and return the sha256 of its file. The same content gives the same file."""
    return files.pack(
        path,
        {
            files.CARD: files.as_json(asdict(card)),
            files.LEXICON: files.as_json(lexicon),
            WEIGHTS: weights.read_bytes(),
        },
    )


@dataclass(frozen=True, slots=True)
class Model:
    """A loaded model. `revision` changes with every byte of its file."""

    card: Card
    lexicon: dict[str, tuple[str, ...]]
    weights: Weights
    revision: str


def load_model(path: Path) -> Model:
    """Load a model. Raises BackendError (permanent) for a missing, damaged or foreign file."""
    data, lexicon, file = files.unpack(path, FORMAT, WEIGHTS)
    card = _card(path, data)
    if not file.startswith(MAGIC):
        raise _refused(path, "its weights are not in crfsuite's format")
    try:
        weights = read_weights(file)
    except ValueError as error:
        raise _refused(path, f"its weights can't be read ({error})") from None
    _check_labels(path, card, weights.tags)
    return Model(card, lexicon, weights, files.digest(path)[:12])


def _refused(path: Path, why: str) -> BackendError:
    return files.refused(path, FORMAT, why)


def _card(path: Path, data: dict[str, Any]) -> Card:
    try:
        card = Card(**data | {"labels": tuple(data["labels"])})
    except (TypeError, KeyError):
        raise _refused(path, "its card has missing or unknown fields") from None
    files.check_words(path, FORMAT, (card.label_set, card.algorithm, card.rules_set), card.labels)
    return card


def _check_labels(path: Path, card: Card, tags: Sequence[str]) -> None:
    try:
        known = {split_tag(tag)[1] for tag in tags if tag != OUTSIDE}
    except ValueError:
        raise _refused(path, "its weights have tags that are not BIO tags") from None
    if not known <= set(card.labels):
        raise _refused(path, "its weights have labels that are missing in its card")
