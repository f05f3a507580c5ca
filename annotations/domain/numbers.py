"""Whole numbers that came from outside: what a column can hold, and nothing else."""

from typing import Final, TypeGuard

# Offsets are 32 bit in the database; ids and the rest 64.
MAX_OFFSET: Final = 2**31 - 1
MAX_ID: Final = 2**63 - 1
_DIGITS: Final = len(str(MAX_ID))


def whole(word: str, most: int = MAX_ID) -> int | None:
    """The number from 0 to `most` that ASCII digits write; None where `word` is anything else."""
    if not (word.isascii() and word.isdecimal() and len(word) <= _DIGITS):
        return None
    found = int(word)
    return found if found <= most else None


def is_whole(value: object, most: int = MAX_ID) -> TypeGuard[int]:
    """Whether a JSON value is a whole number from 0 to `most`."""
    return type(value) is int and 0 <= value <= most
