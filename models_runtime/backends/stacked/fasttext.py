"""Models of fastText with sub-words (`.bin`, Bojanowski et al. 2017), read without fastText.

A vector is the mean of the rows of a word's n-grams, and of its own row if it is in the dictionary. So every word has a
vector. The layout is that of fastText's `Dictionary::save` and `FastText::saveModel`, version 12.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from models_runtime.backends.stacked.word_files import MOST_VALUES, MOST_WORDS, WordFile, refused

VERSION: Final = 12
# Magic number and version; then dim, ws, epoch, minCount, neg, wordNgrams, loss, model, bucket, minn, maxn,
# lrUpdateRate, t; then the sizes of the dictionary: entries, words, labels, tokens, pruned n-grams.
HEAD: Final = struct.Struct("<ii12id")
DICTIONARY: Final = struct.Struct("<iiiqq")
# After each word of the dictionary: its count, and whether it is a word (0) or a label.
ENTRY: Final = struct.Struct("<qb")
MATRIX: Final = struct.Struct("<?qq")
OFFSET: Final = 2166136261
PRIME: Final = 16777619


class FastTextFile(WordFile):
    """A fastText model. Quantized models (.ftz) and other versions are refused."""

    def __init__(self, path: Path) -> None:
        self._least = self._most = self._buckets = self._words = 0
        self._matrix = 0
        super().__init__(path)

    def _scan(self) -> Iterator[tuple[bytes, int]]:
        _, version, dim, *_, buckets, least, most, _, _ = self._read(HEAD, 0)
        if version != VERSION:
            raise refused(self.path, f"its fastText version is {version}, not {VERSION}; export its vectors as .vec")
        place = HEAD.size
        size, words, _, _, pruned = self._read(DICTIONARY, place)
        if not (0 < dim <= MOST_VALUES and 0 <= words <= size <= MOST_WORDS and buckets >= 0 and least <= most <= 100):
            raise refused(self.path, "a number in its head is out of range; copy it again")
        if pruned >= 0:
            raise refused(self.path, "it is a quantized fastText model (.ftz); export its vectors as .vec")
        self.dimensions, self._words, self._buckets, self._least, self._most = dim, words, buckets, least, most
        place += DICTIONARY.size
        for number in range(size):
            end = self._until(b"\0", place)
            if number < words:
                yield self._data[place:end], place
            place = end + 1 + ENTRY.size
        quantized, rows, columns = self._read(MATRIX, place)
        if quantized:
            raise refused(self.path, "it is a quantized fastText model (.ftz); export its vectors as .vec")
        self._matrix = place + MATRIX.size
        if columns != dim or rows != words + buckets:
            raise refused(self.path, "its matrix doesn't fit its head; copy it again")
        if self._matrix + 4 * rows * columns > len(self._data):
            raise refused(self.path, "it ends early; copy it again")

    def _read(self, what: struct.Struct, place: int) -> tuple[Any, ...]:
        try:
            return what.unpack_from(self._data, place)
        except struct.error:
            raise refused(self.path, "it ends early; copy it again") from None

    def _word_at(self, place: int) -> bytes:
        return self._data[place : self._until(b"\0", place)]

    def _vector_at(self, number: int, place: int) -> Any:
        return self._mean([number, *self._grams(self._word_at(place))])

    def _unknown(self, word: str) -> Any | None:
        return self._mean(self._grams(word.encode(errors="ignore")))

    def _mean(self, rows: list[int]) -> Any | None:
        if not rows:
            return None
        values = [self._floats(self._matrix + 4 * row * self.dimensions, self.dimensions) for row in rows]
        return np.mean(values, axis=0, dtype=np.float64).astype(np.float32)

    def _grams(self, word: bytes) -> list[int]:
        """The rows of the n-grams of `<word>`: fastText's `computeSubwords`, by characters of UTF-8."""
        if word == b"</s>" or not self._buckets:
            return []
        whole = [character.encode() for character in f"<{word.decode(errors='ignore')}>"]
        found = []
        for at in range(len(whole)):
            for count in range(max(self._least, 1), min(self._most, len(whole) - at) + 1):
                if count == 1 and (at == 0 or at + 1 == len(whole)):
                    continue
                found.append(self._words + _fnv(b"".join(whole[at : at + count])) % self._buckets)
        return found


def _fnv(gram: bytes) -> int:
    """fastText's hash: FNV-1a over signed bytes, in 32 bits."""
    found = OFFSET
    for byte in gram:
        signed = byte - 256 if byte > 127 else byte
        found = ((found ^ (signed & 0xFFFFFFFF)) * PRIME) & 0xFFFFFFFF
    return found
