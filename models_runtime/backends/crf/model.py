"""A trained CRF on disk (models_runtime.backends.files). `model.crfsuite` contains the weights in crfsuite's format.

A model that was trained from an earlier one contains the earlier model's whole file as `earlier.zip`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from annotations.text.bio import OUTSIDE, split_tag
from models_runtime.backends import files
from models_runtime.backends.base import BackendError
from models_runtime.backends.crf.weights import MAGIC, Weights, read_weights

FORMAT: Final = "deidreview-crf-1"
WEIGHTS: Final = "model.crfsuite"
EARLIER: Final = "earlier.zip"
# The largest number of stages of a model, which bounds how deep files are nested.
MOST_STAGES: Final = 4


@dataclass(frozen=True, slots=True)
class Card:
    """Description of a model. `rules_set`: the label set of the rules whose tags are features, empty without them."""

    label_set: str
    labels: tuple[str, ...]
    algorithm: str
    rules_set: str
    notes: int
    iterations: int
    format: str = FORMAT


def save(path: Path, card: Card, weights: Path, lexicon: Mapping[str, list[str]], earlier: Path | None = None) -> str:
    """Write a model and return the sha256 of its file. The same content gives the same file.

    `earlier`: the file of the model of the stage before.
    """
    members = {
        files.CARD: files.as_json(asdict(card)),
        files.LEXICON: files.as_json(lexicon),
        WEIGHTS: weights.read_bytes(),
    }
    return files.pack(path, members | ({EARLIER: earlier.read_bytes()} if earlier else {}))


@dataclass(frozen=True, slots=True)
class Model:
    """A loaded model. `revision` changes with every byte of its file. `earlier`: the model of the stage before."""

    card: Card
    lexicon: dict[str, tuple[str, ...]]
    weights: Weights
    revision: str
    earlier: "Model | None" = None

    @property
    def stages(self) -> int:
        return 1 + (self.earlier.stages if self.earlier else 0)

    @property
    def has_rules(self) -> bool:
        """Whether this stage or an earlier one has the tags of the rules as features."""
        return bool(self.card.rules_set) or (self.earlier is not None and self.earlier.has_rules)

    @property
    def trained_labels(self) -> frozenset[str]:
        """The labels of this stage's training notes. Only these can be predicted with its weights."""
        return frozenset(split_tag(tag)[1] for tag in self.weights.tags if tag != OUTSIDE)


def load_model(path: Path) -> Model:
    """Load a model. Raises BackendError (permanent) for a missing, damaged or foreign file."""
    return _stage(path, None, MOST_STAGES, files.digest(path)[:12] if path.is_file() else "")


def _stage(path: Path, inside: bytes | None, most: int, revision: str) -> Model:
    """Load the model at `path`, or one that is `inside` its file, with at most `most` stages."""
    data, lexicon, file, nested = files.unpack_stage(path, FORMAT, WEIGHTS, earlier=EARLIER, inside=inside)
    if nested and most == 1:
        raise _refused(path, f"it has more than {MOST_STAGES} stages")
    card = _card(path, data)
    if not file.startswith(MAGIC):
        raise _refused(path, "its weights are not in crfsuite's format")
    try:
        weights = read_weights(file)
    except ValueError as error:
        raise _refused(path, f"its weights can't be read ({error})") from None
    _check_labels(path, card, weights.tags)
    earlier = _stage(path, nested, most - 1, "") if nested else None
    if earlier is not None and not set(earlier.card.labels) <= set(card.labels):
        raise _refused(path, "its earlier stage has labels that are missing in its card")
    return Model(card, lexicon, weights, revision, earlier)


def _refused(path: Path, why: str) -> BackendError:
    return files.refused(path, FORMAT, why)


def _card(path: Path, data: dict[str, Any]) -> Card:
    card = files.card_from(path, Card, data)
    files.check_words(path, FORMAT, (card.label_set, card.algorithm, card.rules_set), card.labels)
    return card


def _check_labels(path: Path, card: Card, tags: Sequence[str]) -> None:
    try:
        known = {split_tag(tag)[1] for tag in tags if tag != OUTSIDE}
    except ValueError:
        raise _refused(path, "its weights have tags that are not BIO tags") from None
    if not known <= set(card.labels):
        raise _refused(path, "its weights have labels that are missing in its card")
