"""Hash: the label and twelve digits of a keyed hash, "NAME-7f3a9c21d04b"; the same for equal identifiers.

Twelve hexadecimal digits are 48 bits: two of a million different identifiers have the same hash with a probability of
about one in 560.
"""

from typing import Final

from annotations.domain.redaction.operators.base import InNote
from annotations.domain.redaction.released import Mention

_DIGITS: Final = 12


def hashed(mention: Mention, note: InNote) -> str:
    return f"{mention.label}-{note.replacing.hashed(mention)[:_DIGITS]}"
