"""Whole numbers from requests and files, within the range of a database column."""

from typing import Final, TypeGuard

# In the database, offsets have 32 bits and all other numbers 64.
MAX_OFFSET: Final = 2**31 - 1
MAX_ID: Final = 2**63 - 1
_DIGITS: Final = len(str(MAX_ID))


def whole(word: str, most: int = MAX_ID) -> int | None:
    """The number from 0 to `most` that `word` writes in ASCII digits; None if it is anything else."""
    if not (word.isascii() and word.isdecimal() and len(word) <= _DIGITS):
        return None
    found = int(word)
    return found if found <= most else None


def is_whole(value: object, most: int = MAX_ID) -> TypeGuard[int]:
    """Whether a JSON value is a whole number from 0 to `most`."""
    return type(value) is int and 0 <= value <= most
