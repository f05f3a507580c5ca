"""Aliases for ids, used where a gap between consecutive ids would give something away.

The suggestions of a note have consecutive ids, so a suggestion that is hidden from the page would leave a visible gap.
Aliases come from a keyed, reversible permutation (a balanced Feistel network of 52 bits: Luby and Rackoff 1988) and
follow no order. One higher bit marks an alias, so that it can't be mistaken for an id. JavaScript numbers hold aliases
exactly.
"""

import hashlib
from collections.abc import Callable
from functools import lru_cache
from typing import Final

_BITS: Final = 26
_HALF: Final = (1 << _BITS) - 1
_MARK: Final = 1 << (2 * _BITS)
_ROUNDS: Final = 4
_KEPT: Final = 1 << 13


class Aliases:
    """The aliases under one key. An id of 2**52 or more has no alias and is returned unchanged."""

    def __init__(self, key: bytes) -> None:
        self._key = key[:64]
        # Cached, because the response to every decision lists all suggestions of the note.
        self.of: Callable[[int], int] = lru_cache(_KEPT)(self._of)

    def _of(self, pk: int) -> int:
        if not 0 <= pk < _MARK:
            return pk
        left, right = pk >> _BITS, pk & _HALF
        for number in range(_ROUNDS):
            left, right = right, left ^ self._round(number, right)
        return _MARK | left << _BITS | right

    def back(self, alias: int) -> int:
        """The id that an alias stands for; an id is returned unchanged."""
        if not _MARK <= alias < 2 * _MARK:
            return alias
        left, right = alias >> _BITS & _HALF, alias & _HALF
        for number in reversed(range(_ROUNDS)):
            left, right = right ^ self._round(number, left), left
        return left << _BITS | right

    def _round(self, number: int, half: int) -> int:
        block = number.to_bytes(1) + half.to_bytes(4)
        return int.from_bytes(hashlib.blake2b(block, key=self._key, digest_size=4).digest()) & _HALF
