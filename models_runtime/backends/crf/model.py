"""A trained CRF on disk (models_runtime.backends.files). `model.crfsuite` contains the weights in crfsuite's format.

A model that was trained from an earlier one contains the earlier model's whole file as `earlier.zip`.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from annotations.text.bio import OUTSIDE, split_tag
from annotations.text.wording import gettext as _
from models_runtime.backends import files
from models_runtime.backends.base import BackendError

# Read crfsuite's model files: the weight of each feature for each tag, and of each step from tag to tag.
#
# The layout is that of crf1d_model.c and cqdb.c (crfsuite 0.12): a header, a list of weights, and two constant
# databases (CQDB) with the names of tags and of features by their ids.


Floats = NDArray[np.float64]
# Magic, size, type, version, counts of features, labels, attributes, then their offsets, and more.
_HEADER: Final = struct.Struct("<4sI4sI8I")
_SIZE: Final = 1
_OFFSET_OF_WEIGHTS: Final = 7
_OFFSET_OF_TAGS: Final = 8
_OFFSET_OF_FEATURES: Final = 9
# Magic, size, flag, byte order, number of records, offset of their list (from the start of the database).
_DATABASE: Final = struct.Struct("<4s5I")
_RECORD: Final = struct.Struct("<2I")
# Magic, size, count; then the weights: of a feature for a tag, or of a step from one tag to another.
_WEIGHTS: Final = struct.Struct("<4s2I")
_WEIGHT: Final = np.dtype([("type", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
_OF_FEATURE, _OF_STEP = 0, 1
# The largest weight after scaling. A token has about 60 features, and exp(700) is about the largest double.
LARGEST: Final = 8.0
# Limit of the number of tags, since there is a table of all steps. Large label sets have about 40 labels.
MOST_TAGS: Final = 2000
# The first bytes of every model file of crfsuite.
MAGIC: Final = b"lCRF"


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of a model. `steps` [from, to]; a feature's weights are at `_starts[id]` to `_starts[id + 1]`.

    `features`: the id of each feature, as text: a word's features are looked up often, and a text keeps its hash.
    """

    tags: tuple[str, ...]
    steps: Floats
    features: dict[str, int]
    _starts: NDArray[np.intp]
    _targets: NDArray[np.intp]
    _weights: Floats

    def numbers(self, features: Iterable[str]) -> list[int]:
        """The ids of the features that the model has."""
        number = self.features.get
        return [found for feature in features if (found := number(feature)) is not None]

    def sums(self, features: Sequence[Sequence[int]]) -> Floats:
        """For each sequence of ids of features and for each tag, the sum of the weights [sequences, tags]."""
        numbers = np.fromiter(chain.from_iterable(features), np.intp)
        owners = np.repeat(np.arange(len(features)), [len(each) for each in features])
        first = self._starts[numbers]
        counts = self._starts[numbers + 1] - first
        # The indexes of all weights of these features, one feature after the other.
        at = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        size = len(self.tags)
        cells = np.repeat(owners, counts) * size + self._targets[at]
        sums = np.bincount(cells, self._weights[at], len(features) * size)
        return np.asarray(sums, np.float64).reshape(-1, size)


def read_weights(file: bytes) -> Weights:
    """Read a model file. Raises ValueError for a damaged file or another format."""
    try:
        header = _HEADER.unpack_from(file)
        if not file.startswith(MAGIC):
            raise ValueError(_("not a crfsuite model"))
        if header[_SIZE] != len(file):
            raise ValueError(_("damaged: a part of the file is missing"))
        tags = [name.decode() for name in _names(file, header[_OFFSET_OF_TAGS])]
        names = _names(file, header[_OFFSET_OF_FEATURES])
        rows = np.frombuffer(file, *_weight_table(file))
    except (struct.error, UnicodeDecodeError) as error:
        raise ValueError(_("damaged: {error}", error)) from None
    own, step = rows[rows["type"] == _OF_FEATURE], rows[rows["type"] == _OF_STEP]
    if len(tags) > MOST_TAGS or _beyond(own, len(names), len(tags)) or _beyond(step, len(tags), len(tags)):
        raise ValueError(_("damaged: weights of unknown features or tags"))
    if len(own) + len(step) < len(rows) or not np.isfinite(rows["weight"]).all():
        raise ValueError(_("damaged: weights of an unknown type, or not finite"))
    steps = np.zeros((len(tags), len(tags)))
    steps[step["source"], step["target"]] = step["weight"]
    own = own[np.argsort(own["source"], kind="stable")]
    starts = np.searchsorted(own["source"], np.arange(len(names) + 1))
    # A name that is not UTF-8 gets a text that no feature has.
    features = {name.decode(errors="surrogateescape"): number for number, name in enumerate(names) if name}
    targets, weights = own["target"].astype(np.intp), own["weight"].astype(np.float64)
    return Weights(tuple(tags), steps, features, starts, targets, weights)


def _beyond(rows: Any, sources: int, targets: int) -> bool:
    return bool(np.any(rows["source"] >= sources) or np.any(rows["target"] >= targets))


def _weight_table(file: bytes) -> tuple[np.dtype[Any], int, int]:
    """Type, count and offset of the weights. Raises ValueError and struct.error."""
    base = _HEADER.unpack_from(file)[_OFFSET_OF_WEIGHTS]
    magic, _size, count = _WEIGHTS.unpack_from(file, base)
    first = base + _WEIGHTS.size
    if magic != b"FEAT" or first + count * _WEIGHT.itemsize > len(file):
        raise ValueError(_("damaged: the weights are not at their offset"))
    return _WEIGHT, count, first


def _names(file: bytes, base: int) -> list[bytes]:
    """The names in a database by id; empty for an id without a name. Raises ValueError and struct.error."""
    magic, *_rest, count, offset = _DATABASE.unpack_from(file, base)
    if magic != b"CQDB":
        raise ValueError(_("damaged: a list of names is not at its offset"))
    offsets = struct.unpack_from(f"<{count}I", file, base + offset)
    return [_key(file, base + offset) if offset else b"" for offset in offsets]


def _key(file: bytes, at: int) -> bytes:
    """The key of a record, without its final NUL."""
    _, size = _RECORD.unpack_from(file, at)
    begin = at + _RECORD.size
    return file[begin : begin + size - 1]


def scaled(file: bytes) -> bytes:
    """The model file with all weights divided by one number, so that none exceeds LARGEST. The best tags stay the same.

    Raises ValueError for a damaged file.
    """
    out = bytearray(file)
    try:
        weights = np.frombuffer(out, *_weight_table(file))["weight"]
    except struct.error as error:
        raise ValueError(_("damaged: {error}", error)) from None
    weights *= LARGEST / max(LARGEST, float(np.abs(weights).max(initial=0.0)))
    return bytes(out)


FORMAT: Final = "deidreview-crf-1"
WEIGHTS: Final = "model.crfsuite"
EARLIER: Final = "earlier.zip"
# The largest number of stages of a model, which bounds how deep files are nested.
MOST_STAGES: Final = 4


@dataclass(frozen=True, slots=True)
class Card(files.FileCard):
    """Description of a model. `rules_set`: the label set of the rules whose tags are features, empty without them."""

    rules_set: str


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
    """Load a model. Raises BackendError (permanent) if the file is missing, damaged or of another format."""
    return _stage(path, None, MOST_STAGES, files.digest(path)[:12] if path.is_file() else "")


def _stage(path: Path, inside: bytes | None, most: int, revision: str) -> Model:
    """Load the model at `path`, or one that is `inside` its file, with at most `most` stages."""
    data, lexicon, file, nested = files.unpack_stage(path, FORMAT, WEIGHTS, earlier=EARLIER, inside=inside)
    if nested and most == 1:
        raise _refused(path, _("it has more than {most} stages", MOST_STAGES))
    card = files.card_from(path, Card, data)
    if not file.startswith(MAGIC):
        raise _refused(path, _("its weights are not in crfsuite's format"))
    try:
        weights = read_weights(file)
    except ValueError as error:
        raise _refused(path, _("its weights can't be read ({error})", error)) from None
    _check_labels(path, card, weights.tags)
    earlier = _stage(path, nested, most - 1, "") if nested else None
    if earlier is not None and not set(earlier.card.labels) <= set(card.labels):
        raise _refused(path, _("its earlier stage has labels that are missing in its card"))
    return Model(card, lexicon, weights, revision, earlier)


def _refused(path: Path, why: str) -> BackendError:
    return files.refused(path, FORMAT, why)


def _check_labels(path: Path, card: Card, tags: Sequence[str]) -> None:
    try:
        known = {split_tag(tag)[1] for tag in tags if tag != OUTSIDE}
    except ValueError:
        raise _refused(path, _("its weights have tags that are not BIO tags")) from None
    if not known <= set(card.labels):
        raise _refused(path, _("its weights have labels that are missing in its card"))
