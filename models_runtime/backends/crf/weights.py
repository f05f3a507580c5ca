"""A model file of crfsuite's: the weight of each feature for each tag, and of each step from tag to tag.

The layout is that of crf1d_model.c and cqdb.c (crfsuite 0.12): a header, a list of weights, and two constant databases
(CQDB), of tags and of features, whose list of records, by id, gives the name of each.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# Magic, size, type, version, features, labels, attributes, then the places of features, labels, attributes, and more.
_HEADER: Final = struct.Struct("<4sI4sI8I")
_SIZE: Final = 1
_PLACE_OF_WEIGHTS: Final = 7
_PLACE_OF_TAGS: Final = 8
_PLACE_OF_FEATURES: Final = 9
# Magic, size, flag, byte order, length of the list of records, its place (from the database's own beginning).
_DATABASE: Final = struct.Struct("<4s5I")
_RECORD: Final = struct.Struct("<2I")
# Magic, size, number; then the weights: of a feature for a tag, or of a step from one tag to another.
_WEIGHTS: Final = struct.Struct("<4s2I")
_WEIGHT: Final = np.dtype([("type", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
_OF_FEATURE, _OF_STEP = 0, 1
# No weight is larger. A token has about 60 features, and the exponential of 700 is the largest that a double holds.
LARGEST: Final = 8.0
# Some label sets have 40 labels. A table of all steps is made, so that their number must be bounded.
MOST_TAGS: Final = 2000
# crfsuite's own mark, at the start of every model file.
MAGIC: Final = b"lCRF"


@dataclass(frozen=True, slots=True)
class Weights:
    """What a model learned. `steps` is [from, to]; the weights of a feature lie from `_starts` of its number on."""

    tags: tuple[str, ...]
    steps: Floats
    features: dict[bytes, int]
    _starts: list[int]
    _targets: NDArray[np.intp]
    _weights: Floats

    def numbers(self, features: Iterable[str]) -> list[int]:
        """Of the features that the model knows."""
        number = self.features.get
        return [found for feature in features if (found := number(feature.encode())) is not None]

    def sums(self, numbers: Iterable[int]) -> list[float]:
        """For each tag the sum of the weights of these features."""
        sums = [0.0] * len(self.tags)
        for number in numbers:
            here = slice(self._starts[number], self._starts[number + 1])
            for target, weight in zip(self._targets[here].tolist(), self._weights[here].tolist(), strict=True):
                sums[target] += weight
        return sums


def read_weights(file: bytes) -> Weights:
    """Raises ValueError for what is no model of crfsuite's, or is damaged."""
    try:
        header = _HEADER.unpack_from(file)
        if not file.startswith(MAGIC):
            raise ValueError("no model of crfsuite's")
        if header[_SIZE] != len(file):
            raise ValueError("a damaged model: a part of it is missing")
        tags = [name.decode() for name in _names(file, header[_PLACE_OF_TAGS])]
        names = _names(file, header[_PLACE_OF_FEATURES])
        rows = np.frombuffer(file, *_places(file))
    except (struct.error, UnicodeDecodeError) as error:
        raise ValueError(f"a damaged model: {error}") from None
    own, step = rows[rows["type"] == _OF_FEATURE], rows[rows["type"] == _OF_STEP]
    if len(tags) > MOST_TAGS or _beyond(own, len(names), len(tags)) or _beyond(step, len(tags), len(tags)):
        raise ValueError("a damaged model: weights of what it doesn't name")
    if len(own) + len(step) < len(rows) or not np.isfinite(rows["weight"]).all():
        raise ValueError("a damaged model: weights that are none")
    steps = np.zeros((len(tags), len(tags)))
    steps[step["source"], step["target"]] = step["weight"]
    own = own[np.argsort(own["source"], kind="stable")]
    starts = np.searchsorted(own["source"], np.arange(len(names) + 1)).tolist()
    features = {name: number for number, name in enumerate(names) if name}
    return Weights(tuple(tags), steps, features, starts, own["target"].astype(np.intp), own["weight"].copy())


def _beyond(rows: Any, sources: int, targets: int) -> bool:
    return bool(np.any(rows["source"] >= sources) or np.any(rows["target"] >= targets))


def _places(file: bytes) -> tuple[np.dtype[Any], int, int]:
    """The kind, number and place of the weights. Raises ValueError and struct.error."""
    base = _HEADER.unpack_from(file)[_PLACE_OF_WEIGHTS]
    magic, _, count = _WEIGHTS.unpack_from(file, base)
    first = base + _WEIGHTS.size
    if magic != b"FEAT" or first + count * _WEIGHT.itemsize > len(file):
        raise ValueError("a damaged model: its weights are not where they should be")
    return _WEIGHT, count, first


def _names(file: bytes, base: int) -> list[bytes]:
    """The names of a database by their numbers; empty for a number without one. Raises ValueError and struct.error."""
    magic, _, _, _, count, places = _DATABASE.unpack_from(file, base)
    if magic != b"CQDB":
        raise ValueError("a damaged model: a list of names is not where it should be")
    offsets = struct.unpack_from(f"<{count}I", file, base + places)
    return [_key(file, base + offset) if offset else b"" for offset in offsets]


def _key(file: bytes, at: int) -> bytes:
    """The key of a record, without the NUL that ends it."""
    _, size = _RECORD.unpack_from(file, at)
    begin = at + _RECORD.size
    return file[begin : begin + size - 1]


def scaled(file: bytes) -> bytes:
    """The model with all weights divided by one number so that none is larger than LARGEST: the same best tags.

    Raises ValueError for what is no model of crfsuite's.
    """
    out = bytearray(file)
    try:
        weights = np.frombuffer(out, *_places(file))["weight"]
    except struct.error as error:
        raise ValueError(f"a damaged model: {error}") from None
    weights *= LARGEST / max(LARGEST, float(np.abs(weights).max(initial=0.0)))
    return bytes(out)
