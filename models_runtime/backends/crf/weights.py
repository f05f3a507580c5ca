"""What crfsuite keeps in a model file and can't be asked for: the features that it knows, the size of its weights.

The layout is that of crf1d_model.c and cqdb.c (crfsuite 0.12): a header, a list of weights, and a constant database
(CQDB) whose list of records, by id, gives each feature's name.
"""

import struct
from typing import Final

# Magic, size, type, version, features, labels, attributes, then the places of features, labels, attributes, and more.
_HEADER: Final = struct.Struct("<4sI4sI8I")
# Magic, size, flag, byte order, length of the list of records, its place (from the database's own beginning).
_DATABASE: Final = struct.Struct("<4s5I")
_RECORD: Final = struct.Struct("<2I")
_PLACE_OF_WEIGHTS: Final = 7
_PLACE_OF_ATTRIBUTES: Final = 9
# Magic, size, number; then for each weight its type, source, target (4 bytes each) and the weight itself.
_WEIGHTS: Final = struct.Struct("<4s2I")
_WEIGHT: Final = struct.Struct("<12xd")
# No weight is larger. A token has about 60 features, and the exponential of 700 is the largest that a double holds.
LARGEST: Final = 8.0
# crfsuite's own mark, at the start of every model file.
MAGIC: Final = b"lCRF"


def known_features(weights: bytes) -> frozenset[bytes]:
    """Every feature that the model has a weight for, as UTF-8. Raises ValueError for what is no model of crfsuite's."""
    try:
        base = _HEADER.unpack_from(weights)[_PLACE_OF_ATTRIBUTES]
        magic, _, _, _, count, places = _DATABASE.unpack_from(weights, base)
        if not weights.startswith(MAGIC) or magic != b"CQDB":
            raise ValueError("no model of crfsuite's")
        offsets = struct.unpack_from(f"<{count}I", weights, base + places)
        return frozenset(_key(weights, base + offset) for offset in offsets if offset)
    except struct.error as error:
        raise ValueError(f"a damaged model: {error}") from None


def _key(weights: bytes, at: int) -> bytes:
    """The key of a record, without the NUL that ends it."""
    _, size = _RECORD.unpack_from(weights, at)
    begin = at + _RECORD.size
    return weights[begin : begin + size - 1]


def scaled(weights: bytes) -> bytes:
    """The model with all weights divided by one number so that none is larger than LARGEST: the same best tags.

    Raises ValueError for what is no model of crfsuite's.
    """
    try:
        base = _HEADER.unpack_from(weights)[_PLACE_OF_WEIGHTS]
        magic, _, count = _WEIGHTS.unpack_from(weights, base)
        if magic != b"FEAT":
            raise ValueError("no model of crfsuite's")
        places = [base + _WEIGHTS.size + at * _WEIGHT.size for at in range(count)]
        values = [value for place in places for value in _WEIGHT.unpack_from(weights, place)]
    except struct.error as error:
        raise ValueError(f"a damaged model: {error}") from None
    factor = LARGEST / max(LARGEST, *map(abs, values))
    out = bytearray(weights)
    for place, value in zip(places, values, strict=True):
        struct.pack_into("<d", out, place + _WEIGHT.size - 8, value * factor)
    return bytes(out)
