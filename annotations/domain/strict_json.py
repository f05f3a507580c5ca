"""JSON from outside: one object of values that a database can hold, or a refusal that says what is wrong."""

import json
import math
from collections.abc import Iterator
from typing import Any, Final

from annotations.domain.names import unkeepable

DEEPEST: Final = 12
_LEAST, _MOST = -(2**63), 2**63 - 1


class JsonError(ValueError):
    """Why the body is refused, as a sentence. Never quotes it."""


def read_object(data: bytes) -> dict[str, Any]:
    """The object that `data` holds. Raises JsonError, as `read_json` does and for another value at the top."""
    found = read_json(data)
    if not isinstance(found, dict):
        raise JsonError("The request must be a JSON object.")
    return found


def read_json(data: bytes) -> Any:
    """The value that `data` holds in UTF-8. Raises JsonError.

    Refused are: a key twice, NaN and Infinity, numbers beyond 64 bits, more than DEEPEST levels, and text with NUL or
    half a surrogate pair.
    """
    try:
        found = json.loads(
            data.decode(), object_pairs_hook=_object, parse_int=_int, parse_float=_float, parse_constant=_constant
        )
    except JsonError:
        raise
    except (ValueError, RecursionError):
        raise JsonError("The request is no JSON.") from None
    if any(unkeepable(text) for text in texts_in(found)):
        raise JsonError("The request holds a character that can't be kept (NUL or half a surrogate pair).")
    return found


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise JsonError("The request names a field twice.")
    return found


def _int(word: str) -> int:
    # A longer number is out of range whatever its digits are, and would take long to read.
    value = int(word) if len(word) <= len(str(_LEAST)) else _MOST + 1
    if not _LEAST <= value <= _MOST:
        raise JsonError("The request holds a number that is out of range.")
    return value


def _float(word: str) -> float:
    value = float(word)
    if not math.isfinite(value):
        raise JsonError("The request holds a number that is out of range.")
    return value


def _constant(word: str) -> float:
    raise JsonError(f"The request holds {word}, which is no number of JSON.")


def texts_in(value: Any) -> Iterator[str]:
    """All keys and texts. Raises JsonError below DEEPEST levels."""
    level = [value]
    for _ in range(DEEPEST):
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
        raise JsonError(f"The request has more than {DEEPEST} levels.")
