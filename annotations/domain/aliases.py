"""Numbers that stand for ids where a gap between the ids would tell something.

Proposals of a note are numbered one after the other: if one is left out of the page, its number is missing there. A
keyed permutation (a balanced Feistel network of 52 bits: Luby and Rackoff 1988) gives numbers that follow in no order
and can be turned back. A bit above those marks them, so that they are never taken for ids; JavaScript holds them
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
    """The aliases under one key. An id that is too large for them (from 2**52 on) stands for itself."""

    def __init__(self, key: bytes) -> None:
        self._key = key[:64]
        # Every decision on a note is answered with all of its proposals.
        self.of: Callable[[int], int] = lru_cache(_KEPT)(self._of)

    def _of(self, pk: int) -> int:
        if not 0 <= pk < _MARK:
            return pk
        left, right = pk >> _BITS, pk & _HALF
        for number in range(_ROUNDS):
            left, right = right, left ^ self._round(number, right)
        return _MARK | left << _BITS | right

    def back(self, alias: int) -> int:
        """The id of an alias; an id is given back as it is."""
        if not _MARK <= alias < 2 * _MARK:
            return alias
        left, right = alias >> _BITS & _HALF, alias & _HALF
        for number in reversed(range(_ROUNDS)):
            left, right = right ^ self._round(number, left), left
        return left << _BITS | right

    def _round(self, number: int, half: int) -> int:
        told = number.to_bytes(1) + half.to_bytes(4)
        return int.from_bytes(hashlib.blake2b(told, key=self._key, digest_size=4).digest()) & _HALF
