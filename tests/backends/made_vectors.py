"""Small files of word vectors in every format, and notes to train on."""

import random
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from models_runtime.backends.bilstm_crf.word_files import _fnv

Vectors = Mapping[str, Sequence[float]]


def made_vectors(words: Sequence[str], dimensions: int = 8) -> dict[str, list[float]]:
    """A vector for each word: always the same, and exact in half precision."""
    chance = random.Random(5)
    return {word: [chance.randint(-8, 8) / 4 for _ in range(dimensions)] for word in words}


def as_glove(path: Path, vectors: Vectors) -> Path:
    path.write_text("".join(f"{word} {' '.join(map(str, values))}\n" for word, values in vectors.items()))
    return path


def as_word2vec_text(path: Path, vectors: Vectors) -> Path:
    """The format of fastText's .vec files, too; with a space at the end of each line, as word2vec writes it."""
    lines = [f"{len(vectors)} {len(next(iter(vectors.values())))}\n"]
    lines += [f"{word} {' '.join(map(str, values))} \n" for word, values in vectors.items()]
    path.write_text("".join(lines))
    return path


def as_word2vec_binary(path: Path, vectors: Vectors) -> Path:
    head = f"{len(vectors)} {len(next(iter(vectors.values())))}\n".encode()
    rows = [word.encode() + b" " + np.array(values, dtype="<f4").tobytes() + b"\n" for word, values in vectors.items()]
    path.write_bytes(head + b"".join(rows))
    return path


def as_fasttext(path: Path, vectors: Vectors, *, version: int = 12, pruned: int = -1, quantized: bool = False) -> Path:
    """A fastText model with n-grams of 3 to 4 characters in 50 buckets. Rows of n-grams are their number, /64."""
    dimensions, buckets = len(next(iter(vectors.values()))), 50
    head = struct.pack("<ii12id", 793712314, version, dimensions, 5, 5, 1, 5, 1, 1, 1, buckets, 3, 4, 100, 1e-4)
    words = struct.pack("<iiiqq", len(vectors), len(vectors), 0, 1000, pruned)
    words += b"".join(word.encode() + b"\0" + struct.pack("<qb", 10, 0) for word in vectors)
    grams = [[number / 64] * dimensions for number in range(buckets)]
    matrix = np.array([*vectors.values(), *grams], dtype="<f4")
    path.write_bytes(head + words + struct.pack("<?qq", quantized, *matrix.shape) + matrix.tobytes())
    return path


def grams_of(word: str) -> list[str]:
    whole = f"<{word}>"
    return [whole[at : at + size] for at in range(len(whole)) for size in (3, 4) if at + size <= len(whole)]


def fasttext_vector(word: str, vectors: Vectors) -> np.ndarray:
    """The vector of a word in `as_fasttext`, by the definition."""
    dimensions = len(next(iter(vectors.values())))
    rows = [[(_fnv(gram.encode()) % 50) / 64] * dimensions for gram in grams_of(word)]
    return np.mean([*([vectors[word]] if word in vectors else []), *rows], axis=0)
