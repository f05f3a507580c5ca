"""Strict parsing of JSON from requests and files, limited to values that a database can store."""

import json
import math
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

from annotations.text.names import unkeepable

DEEPEST: Final = 12
_LEAST, _MOST = -(2**63), 2**63 - 1


class JsonError(ValueError):
    """Invalid JSON. The message is a sentence that says what is wrong, and never quotes the input."""


# NUL and halves of surrogate pairs can be in JSON only as escapes. This also finds whole pairs.
ODD: Final = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")


def read_object(data: bytes) -> dict[str, Any]:
    """Parse a JSON object. Raises JsonError as `read_json` does, and if the value is not an object."""
    found = read_json(data)
    if not isinstance(found, dict):
        raise JsonError("The request must be a JSON object.")
    return found


def read_json(data: bytes) -> Any:
    """Parse a JSON value in UTF-8.

    Raises JsonError for invalid JSON, duplicate keys, NaN and Infinity, numbers beyond 64 bits, more than DEEPEST
    levels, and text with NUL or an unpaired surrogate.
    """
    try:
        text = data.decode()
        found = _STRICT.decode(text)
    except JsonError:
        raise
    except (ValueError, RecursionError):
        raise JsonError("The request is not valid JSON.") from None
    check_depth(found)
    if ODD.search(text) and any(map(unkeepable, texts_in(found))):
        raise JsonError("The request contains a character that can't be stored (NUL or an unpaired surrogate).")
    return found


def strict_decoder(subject: str) -> json.JSONDecoder:
    """A decoder that raises JsonError for duplicate keys, NaN and Infinity, and numbers beyond 64 bits.

    Messages begin with the subject, for example “The request”. Invalid JSON raises ValueError or RecursionError.
    """

    def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise JsonError(f"{subject} names a field twice.")
        return found

    def whole(word: str) -> int:
        # A longer number is out of range whatever its digits are, and parsing it would take long.
        value = int(word) if len(word) <= len(str(_LEAST)) else _MOST + 1
        if not _LEAST <= value <= _MOST:
            raise JsonError(f"{subject} contains a number that is out of range.")
        return value

    def real(word: str) -> float:
        value = float(word)
        if not math.isfinite(value):
            raise JsonError(f"{subject} contains a number that is out of range.")
        return value

    def constant(word: str) -> float:
        raise JsonError(f"{subject} contains {word}, which is not a JSON number.")

    return json.JSONDecoder(object_pairs_hook=object_of, parse_int=whole, parse_float=real, parse_constant=constant)


_STRICT: Final = strict_decoder("The request")
_HOLDERS: Final = (dict, list)


def check_depth(value: Any) -> None:
    """Raise JsonError if a JSON value has more than DEEPEST levels."""
    level = [value]
    for _ in range(DEEPEST):
        if not level:
            return
        holders = (each for each in level if isinstance(each, _HOLDERS))
        level = list(chain.from_iterable(each.values() if isinstance(each, dict) else each for each in holders))
    if level:
        raise JsonError(f"The request has more than {DEEPEST} levels.")


def texts_in(value: Any, deepest: int = DEEPEST) -> Iterator[str]:
    """All keys and strings in a JSON value. Raises JsonError if it has more than `deepest` levels."""
    level = [value]
    for _ in range(deepest):
        if not level:
            return
        below: list[Any] = []
        for each in level:
            if isinstance(each, str):
                yield each
            elif isinstance(each, dict):
                yield from each
                below += each.values()
            elif isinstance(each, list):
                below += each
        level = below
    if level:
        raise JsonError(f"The request has more than {deepest} levels.")
