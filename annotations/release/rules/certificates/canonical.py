"""The one way to write a certificate as JSON, so that equal content has equal bytes."""

import json
import math
from typing import Any, Final

PLACES: Final = 4


def canonical(value: Any) -> bytes:
    """JSON in UTF-8 with sorted keys and without spaces.

    With the numbers that `written` gives, the same bytes as of the JSON Canonicalization Scheme (RFC 8785).
    """
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def written(value: Any) -> Any:
    """The value with all fractions rounded to PLACES decimals; a fraction without decimals becomes a whole number."""
    if isinstance(value, float):
        short = round(value, PLACES)
        return int(short) if short.is_integer() else short
    if isinstance(value, dict):
        return {key: written(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [written(one) for one in value]
    return value


def at_most(value: float) -> float:
    """The value rounded up, so that an upper bound stays one."""
    return math.ceil(round(value * 10**PLACES, 6)) / 10**PLACES


def at_least(value: float) -> float:
    """The value rounded down, so that a lower bound stays one."""
    return math.floor(round(value * 10**PLACES, 6)) / 10**PLACES
