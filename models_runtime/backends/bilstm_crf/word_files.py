"""Files of word vectors that users bring: word2vec (text and binary), GloVe (text), fastText (.vec and .bin).

Files may be larger than memory. A file is read once from start to end, which gives its sha256 and the place of each
word (16 bytes per word); vectors are read from the file when they are needed. Nothing in a file is run, no pickle.
"""

import hashlib
import mmap
import struct
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from annotations.text.wording import gettext as _
from annotations.text.wording import gettext_noop
from models_runtime.backends.base import BackendError

MOST_VALUES: Final = 4096
MOST_WORDS: Final = 50_000_000
# Bytes of a word and of a line. Longer ones mean that the file has another format.
MOST_WORD: Final = 4096
MOST_LINE: Final = 1 << 20
# Words after which memory is given back while a file is read.
RELEASED: Final = 1 << 16
FASTTEXT: Final = (793712314).to_bytes(4, "little")
# The first bytes of formats that can't be read, with what to do.
FOREIGN: Final = {
    b"\x1f\x8b": gettext_noop("it is compressed with gzip; unpack it first"),
    b"PK": gettext_noop("it is a zip archive; unpack it first"),
    b"BZh": gettext_noop("it is compressed with bzip2; unpack it first"),
    b"\xfd7zXZ": gettext_noop("it is compressed with xz; unpack it first"),
    b"\x80": gettext_noop("it is a pickle, which could run code; save its vectors in the word2vec format"),
}
FORMATS: Final = gettext_noop("word2vec (text or binary), GloVe (text), fastText (.vec or .bin)")


def refused(path: Path, why: str) -> BackendError:
    """The error for an unusable file. `why` is a clause without a full stop."""
    return BackendError("The word vectors {name} can't be read: {why}.", path.name, why)


class WordFile(ABC):
    """A file of word vectors. `dimensions`: the number of values of a vector. `sha256`: of the whole file."""

    def __init__(self, path: Path) -> None:
        """Read the file from start to end. Raises BackendError (permanent) for an unusable file."""
        self.path = path
        self.dimensions = 0
        hashes, places = array("q"), array("Q")
        try:
            with path.open("rb") as file:
                # The system reads only the pages in use, and takes them back when it needs memory.
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                self.sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            for word, place in self._scan():
                hashes.append(hash(word))
                places.append(place)
                if len(places) % RELEASED == 0:
                    self._release()
                if len(places) > MOST_WORDS:
                    raise refused(path, _("it has more than {most:,} words", MOST_WORDS))
        except (OSError, ValueError) as error:
            raise refused(path, str(getattr(error, "strerror", "") or error)) from None
        self._release()
        if not places:
            raise refused(path, _("it has no words"))
        if not 0 < self.dimensions <= MOST_VALUES:
            raise refused(path, _("a vector has {n} values; 1 to {most} are possible", self.dimensions, MOST_VALUES))
        self._places = np.frombuffer(places, dtype=np.uint64)
        order = np.argsort(np.frombuffer(hashes, dtype=np.int64), kind="stable")
        self._sorted, self._order = np.frombuffer(hashes, dtype=np.int64)[order], order

    def _release(self) -> None:
        """Give back the memory of what was read; the file stays mapped."""
        self._data.madvise(mmap.MADV_DONTNEED)

    def _until(self, end: bytes, place: int) -> int:
        """The position of the byte that ends the word at `place`."""
        found = self._data.find(end, place, place + MOST_WORD)
        if found < 0:
            raise refused(self.path, _("byte {offset:,} begins no word; copy it again", place))
        return found

    def _floats(self, place: int, count: int) -> Any:
        if place + 4 * count > len(self._data):
            raise refused(self.path, _("it ends early; copy it again"))
        return np.frombuffer(self._data, dtype="<f4", count=count, offset=place)

    @abstractmethod
    def _scan(self) -> Iterator[tuple[bytes, int]]:
        """Each word with its place in the file; sets `dimensions`."""

    @abstractmethod
    def _word_at(self, place: int) -> bytes:
        """The word at a place."""

    @abstractmethod
    def _vector_at(self, number: int, place: int) -> Any:
        """The vector of a word, by its number in the file and its place."""

    def first(self, count: int) -> list[str]:
        """The first `count` words. Files list frequent words first."""
        words = (self._word_at(int(place)).decode(errors="ignore") for place in self._places[:count])
        return [word for word in words if word]

    def vectors(self, words: Iterable[str]) -> dict[str, Any]:
        """The vectors, in half precision, of those words that have one."""
        return {word: vector for word in words if (vector := self.vector(word)) is not None}

    def vector(self, word: str) -> Any | None:
        """The vector of a word, in half precision, or None. Raises BackendError for values that are not numbers."""
        number = self._number(word.encode(errors="ignore"))
        vector = self._unknown(word) if number is None else self._vector_at(number, int(self._places[number]))
        if vector is None:
            return None
        with np.errstate(over="ignore"):
            half = vector.astype(np.float16)
        if not np.isfinite(half).all():
            raise refused(self.path, _("a vector has values that are not finite or above 65,000"))
        return half

    def _number(self, word: bytes) -> int | None:
        """The number of a word in the file; of several, the first."""
        wanted = hash(word)
        at = int(np.searchsorted(self._sorted, wanted))
        while at < len(self._sorted) and self._sorted[at] == wanted:
            number = int(self._order[at])
            if self._word_at(int(self._places[number])) == word:
                return number
            at += 1
        return None

    def _unknown(self, word: str) -> Any | None:
        """The vector of a word that is not in the file, if the format can make one."""
        return None


def open_words(path: Path) -> WordFile:
    """Open a file of word vectors in any supported format. Raises BackendError (permanent)."""

    try:
        with path.open("rb") as file:
            start = file.read(1 << 16)
    except OSError as error:
        raise refused(path, str(error.strerror or type(error).__name__)) from None
    for magic, why in FOREIGN.items():
        if start.startswith(magic):
            raise refused(path, _(why))
    if start.startswith(FASTTEXT):
        return FastTextFile(path)
    head, _newline, rest = start.partition(b"\n")
    counts = head.split()
    if len(counts) == 2 and all(count.isdigit() for count in counts):
        if len(counts[0]) > 12 or not 0 < int(counts[1][:9]) <= MOST_VALUES:
            raise refused(path, _("its first line must give the number of words and of values"))
        return TextFile(path) if _is_line(rest.partition(b"\n")[0], int(counts[1])) else BinaryFile(path)
    if _is_line(head, len(counts) - 1):
        return TextFile(path)
    raise refused(path, _("its format is unknown. Known formats: {formats}", _(FORMATS)))


def _is_line(line: bytes, count: int) -> bool:
    """Whether a line is a word with `count` numbers."""
    values = line.split()[-count:] if count > 0 else []
    try:
        return len(line.split()) > count > 0 and len([float(value) for value in values]) == count
    except ValueError:
        return False


class TextFile(WordFile):
    """word2vec text, fastText .vec (a first line with counts) and GloVe (none): a line for each word."""

    def _scan(self) -> Iterator[tuple[bytes, int]]:
        expected, count = None, 0
        with self.path.open("rb") as file:
            place = 0
            for number, line in enumerate(iter(lambda: file.readline(MOST_LINE + 1), b""), start=1):
                if len(line) > MOST_LINE:
                    raise refused(self.path, _("line {number} is too long", number))
                parts = line.split() if number == 1 else []
                if len(parts) == 2 and all(part.isdigit() for part in parts):
                    expected, self.dimensions = int(parts[0]), int(parts[1])
                else:
                    self.dimensions = self.dimensions or len(parts) - 1
                    word = self._word(line, number)
                    if word:
                        yield word, place
                    count += 1
                place += len(line)
        if expected is not None and count != expected:
            raise refused(
                self.path,
                _("it has {count:,} words, but its first line says {expected:,}; copy it again", count, expected),
            )

    def _word(self, line: bytes, number: int) -> bytes:
        """The word of a line; it may contain spaces. Raises BackendError for a line with too few values."""
        line = line.rstrip(b" \r\n")
        if line.count(b" ") == self.dimensions:
            return line.partition(b" ")[0]
        parts = line.rsplit(b" ", self.dimensions)
        if len(parts) <= self.dimensions:
            raise refused(self.path, _("line {number} must have a word and {n} values", number, self.dimensions))
        return parts[0]

    def _line_at(self, place: int) -> bytes:
        end = self._data.find(b"\n", place, place + MOST_LINE)
        return self._data[place : end if end >= 0 else len(self._data)].rstrip(b" \r\n")

    def _word_at(self, place: int) -> bytes:
        return self._line_at(place).rsplit(b" ", self.dimensions)[0]

    def _vector_at(self, number: int, place: int) -> Any:
        try:
            values = self._line_at(place).rsplit(b" ", self.dimensions)[1:]
            return np.array([float(value) for value in values], dtype=np.float32)
        except ValueError:
            raise refused(self.path, _("a value of word number {number:,} is not a number", number + 1)) from None


class BinaryFile(WordFile):
    """word2vec binary: counts on a line, then each word, a space, and its values in single precision."""

    def _scan(self) -> Iterator[tuple[bytes, int]]:
        place = self._until(b"\n", 0) + 1
        count, self.dimensions = map(int, self._data[: place - 1].split())
        for _word in range(count):
            while self._data[place : place + 1] == b"\n":
                place += 1
            end = self._until(b" ", place)
            if end + 1 + 4 * self.dimensions > len(self._data):
                raise refused(self.path, _("it ends early; copy it again"))
            yield self._data[place:end], place
            place = end + 1 + 4 * self.dimensions

    def _word_at(self, place: int) -> bytes:
        return self._data[place : self._until(b" ", place)]

    def _vector_at(self, number: int, place: int) -> Any:
        return self._floats(self._until(b" ", place) + 1, self.dimensions)


# Models of fastText with sub-words (`.bin`, Bojanowski et al. 2017), read without fastText.
#
# A vector is the mean of the rows of a word's n-grams, and of its own row if it is in the dictionary. So every word has
# a vector. The layout is that of fastText's `Dictionary::save` and `FastText::saveModel`, version 12.


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
        _magic, version, dim, *_rest, buckets, least, most = self._read(HEAD, 0)[:-2]
        if version != VERSION:
            raise refused(
                self.path,
                _("its fastText version is {version}, not {supported}; export its vectors as .vec", version, VERSION),
            )
        place = HEAD.size
        size, words, *_rest, pruned = self._read(DICTIONARY, place)
        if not (0 < dim <= MOST_VALUES and 0 <= words <= size <= MOST_WORDS and buckets >= 0 and least <= most <= 100):
            raise refused(self.path, _("a number in its head is out of range; copy it again"))
        if pruned >= 0:
            raise refused(self.path, _("it is a quantized fastText model (.ftz); export its vectors as .vec"))
        self.dimensions, self._words, self._buckets, self._least, self._most = dim, words, buckets, least, most
        place += DICTIONARY.size
        for number in range(size):
            end = self._until(b"\0", place)
            if number < words:
                yield self._data[place:end], place
            place = end + 1 + ENTRY.size
        quantized, rows, columns = self._read(MATRIX, place)
        if quantized:
            raise refused(self.path, _("it is a quantized fastText model (.ftz); export its vectors as .vec"))
        self._matrix = place + MATRIX.size
        if columns != dim or rows != words + buckets:
            raise refused(self.path, _("its matrix doesn't fit its head; copy it again"))
        if self._matrix + 4 * rows * columns > len(self._data):
            raise refused(self.path, _("it ends early; copy it again"))

    def _read(self, what: struct.Struct, place: int) -> tuple[Any, ...]:
        try:
            return what.unpack_from(self._data, place)
        except struct.error:
            raise refused(self.path, _("it ends early; copy it again")) from None

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
