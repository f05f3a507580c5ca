"""A stack of embeddings: each token's vectors from files of words and from character language models, side by side.

The vectors are fixed; the reprojection layer of the network maps them (Catelli 2021, section 3.2.1). Words are looked
up as written, then in lower case, then with each digit as # or 0, as in Flair.
"""

import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from models_runtime.backends.base import BackendError
from models_runtime.backends.bilstm_crf.word_files import WordFile, open_words
from models_runtime.backends.characters import Characters
from models_runtime.backends.neural.device import Placement
from models_runtime.backends.notes import Note

_DIGIT: Final = re.compile(r"\d")
# Words whose vectors are remembered, so that a word of many notes is looked up once.
MOST_REMEMBERED: Final = 1 << 16
# Above this size in bytes, the vectors of a training lie in a file without a name, which ends with the process.
MOST_IN_MEMORY: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Source:
    """Where vectors come from: a file of words or a language model, with its name, sha256, and values per token."""

    name: str
    kind: Literal["words", "characters"]
    sha256: str
    dimensions: int


class Words:
    """Word vectors. A model keeps a part of them (`kept`); the others are read from the file, if it is there."""

    def __init__(self, source: Source, kept: dict[str, Any], file: WordFile | None = None) -> None:
        self.source, self.kept, self.file = source, kept, file
        self._vector = lru_cache(maxsize=MOST_REMEMBERED)(self._found)

    def vectors(self, note: Note, parts: Sequence[tuple[int, int]], placement: Placement) -> Any:
        found = np.zeros((len(note.tokens), self.source.dimensions), dtype=np.float16)
        for at, token in enumerate(note.tokens):
            vector = self._vector(note.text[token.start : token.end])
            if vector is not None:
                found[at] = vector
        return found

    def _found(self, form: str) -> Any | None:
        """The vector of the first spelling that has one; None for an unknown word."""
        for word in spellings(form):
            if word in self.kept:
                return self.kept[word]
            vector = self.file.vector(word) if self.file else None
            if vector is not None:
                return vector
        return None


class Contexts:
    """Vectors of a character language model (contextual string embeddings, Akbik et al. 2018)."""

    def __init__(self, source: Source, characters: Characters) -> None:
        self.source, self.characters = source, characters

    def vectors(self, note: Note, parts: Sequence[tuple[int, int]], placement: Placement) -> Any:
        return self.characters.vectors(note, placement, parts)


Embedding = Words | Contexts
"""One part of a stack. `vectors`: a vector for each token [tokens, dimensions]. `parts`: bounds in the text of what is
read together."""


def spellings(form: str) -> list[str]:
    """The spellings under which a word is looked up, in order."""
    lower = form.lower()
    return list(dict.fromkeys([form, lower, _DIGIT.sub("#", lower), _DIGIT.sub("0", lower)]))


def words_of(name: str, path: Path, forms: Iterable[str], most: int) -> Words:
    """The word vectors of a file for a model: those of `forms`, and of the file's first `most` words.

    Raises BackendError (permanent) for an unusable file.
    """
    file = open_words(path)
    wanted = {word: None for form in forms for word in spellings(form)} | dict.fromkeys(file.first(most))
    source = Source(name, "words", file.sha256, file.dimensions)
    return Words(source, file.vectors(sorted(wanted)), file)


def with_file(words: Words, folder: Path | None) -> tuple[Words, str]:
    """The same vectors with their file, if it is in the folder; else why it can't be used."""
    path = folder / words.source.name if folder else None
    if path is None or not path.is_file():
        return words, "missing"
    try:
        file = open_words(path)
    except BackendError:
        return words, "unreadable"
    if file.sha256 != words.source.sha256:
        return words, "changed"
    return Words(words.source, words.kept, file), ""


class Stack:
    """Embeddings side by side, in order."""

    def __init__(self, parts: Sequence[Embedding]) -> None:
        self.parts = list(parts)
        self.dimensions = sum(part.source.dimensions for part in parts)

    @property
    def networks(self) -> list[Characters]:
        """The language models, which need a place on the device."""
        return [part.characters for part in self.parts if isinstance(part, Contexts)]

    def vectors(self, note: Note, groups: Sequence[tuple[int, int]], placement: Placement) -> Any:
        """The vectors of a note's tokens [tokens, dimensions], in half precision.

        `groups`: first and past-the-last token of each sequence. A language model reads one sequence at a time, as the
        network does, so that the sentence grouping factor sets the context of both; without groups, it reads the whole
        note.
        """
        bounds = [(note.tokens[first].start, note.tokens[past - 1].end) for first, past in groups]
        found = [part.vectors(note, bounds, placement) for part in self.parts]
        return np.concatenate(found, axis=1) if found else np.zeros((len(note.tokens), 0), dtype=np.float16)


class Room:
    """Space for vectors [rows, columns] in half precision: in memory, or in a file if they are large."""

    def __init__(self, rows: int, columns: int) -> None:
        shape, self._used = (rows, columns), 0
        self._space: Any
        if rows * columns * 2 <= MOST_IN_MEMORY:
            self._space = np.zeros(shape, dtype=np.float16)
        else:
            self._space = np.memmap(
                tempfile.TemporaryFile(prefix="deidreview-"),  # noqa: SIM115 - open as long as this object exists
                dtype=np.float16,
                mode="w+",
                shape=shape,
            )

    def put(self, vectors: Any) -> Any:
        """Copy vectors into the space, behind those before, and return the copy."""
        kept = self._space[self._used : self._used + len(vectors)]
        kept[:] = vectors
        self._used += len(vectors)
        return kept
