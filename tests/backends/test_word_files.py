"""Files of word vectors: every format gives the same vectors, and damaged or foreign files are refused by name."""

import gzip
import pickle
import struct

import numpy as np
import pytest

from models_runtime.backends import BackendError
from models_runtime.backends.stacked import word_files
from models_runtime.backends.stacked.fasttext import _fnv
from models_runtime.backends.stacked.word_files import open_words
from tests.backends.made_vectors import (
    as_fasttext,
    as_glove,
    as_word2vec_binary,
    as_word2vec_text,
    fasttext_vector,
    made_vectors,
)

WORDS = ["the", "Rossi", "età", "città", "New", "13", "…", "naïve"]
FORMATS = {"glove": as_glove, "text": as_word2vec_text, "binary": as_word2vec_binary}


@pytest.mark.parametrize("write", FORMATS.values(), ids=FORMATS)
def test_every_format_gives_the_same_vectors(tmp_path, write):
    vectors = made_vectors(WORDS)
    words = open_words(write(tmp_path / "words", vectors))
    assert words.dimensions == 8 and len(words.sha256) == 64
    assert words.first(3) == WORDS[:3] and words.first(99) == WORDS
    assert {word: found.tolist() for word, found in words.vectors([*WORDS, "unknown", ""]).items()} == vectors


def test_words_with_spaces_and_repeated_words(tmp_path):
    """GloVe's largest file has words with spaces; of a word that is there twice, the first vector counts."""
    (tmp_path / "g.txt").write_text("a 1 2\n. . 3 4\nb 5 6\na 7 8\n")
    words = open_words(tmp_path / "g.txt")
    assert words.vector(". .").tolist() == [3, 4] and words.vector("a").tolist() == [1, 2]


def test_fasttext_takes_the_mean_of_word_and_n_grams(tmp_path):
    """The definition of Bojanowski et al. 2017; the hash of fastText's documented 32-bit FNV-1a."""
    vectors = made_vectors(WORDS)
    words = open_words(as_fasttext(tmp_path / "cc.it.bin", vectors))
    for word in (*WORDS, "unbekannt", "à"):
        assert np.allclose(words.vector(word), fasttext_vector(word, vectors), atol=0.002), word
    assert words.first(2) == WORDS[:2]
    assert (_fnv(b""), _fnv(b"a"), _fnv(b"foobar")) == (0x811C9DC5, 0xE40C292C, 0xBF9CF968)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "its format is unknown. Known formats: word2vec"),
        (b"just some prose that is no file of vectors\n", "its format is unknown"),
        (gzip.compress(b"a 1 2\n"), "compressed with gzip; unpack it first"),
        (b"PK\x03\x04", "is a zip archive; unpack it first"),
        (pickle.dumps({"a": [1.0]}), "is a pickle, which could run code"),
        (b"a 1 2\nb 1\n", "line 2 must have a word and 2 values"),
        (b"3 2\na 1 2\nb 3 4\n", "it has 2 words, but its first line says 3"),
        (b"2 9999\na 1 2\n", "its first line must give the number"),
        (b"2 0\n", "its first line must give the number"),
        (b"2 2\na " + bytes(8) + b"\nb " + bytes(3), "it ends early; copy it again"),
        (b"9 2\na " + bytes(8), "begins no word"),
        (b"a 1 2\n" + b"b" * (1 << 21), "line 2 is too long"),
        (struct.pack("<ii", 793712314, 12) + b"\0" * 4, "it ends early"),
    ],
)
def test_damaged_and_foreign_files_are_refused(tmp_path, content, why):
    (tmp_path / "bad.vec").write_bytes(content)
    with pytest.raises(BackendError, match=why) as caught:
        open_words(tmp_path / "bad.vec")
    assert caught.value.permanent and str(caught.value).startswith("The word vectors bad.vec can't be read: ")


def test_values_that_are_no_numbers_are_refused_when_they_are_read(tmp_path):
    (tmp_path / "a.vec").write_text("a 1 2\nb 1 x\nc nan 1\n")
    words = open_words(tmp_path / "a.vec")
    assert words.vector("a").tolist() == [1, 2]
    with pytest.raises(BackendError, match="a value of word number 2 is no number"):
        words.vector("b")
    with pytest.raises(BackendError, match="not finite"):
        words.vector("c")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"version": 11}, "its fastText version is 11, not 12; export its vectors as .vec"),
        ({"pruned": 0}, r"it is a quantized fastText model \(.ftz\)"),
        ({"quantized": True}, r"it is a quantized fastText model \(.ftz\)"),
    ],
)
def test_other_fasttext_models_are_refused_by_name(tmp_path, options, why):
    with pytest.raises(BackendError, match=why):
        open_words(as_fasttext(tmp_path / "m.bin", made_vectors(WORDS), **options))


def test_a_cut_fasttext_model_is_refused(tmp_path):
    content = as_fasttext(tmp_path / "m.bin", made_vectors(WORDS)).read_bytes()
    for size in (70, 100, 200, len(content) - 1):
        (tmp_path / "cut.bin").write_bytes(content[:size])
        with pytest.raises(BackendError, match=r"can't be read"):
            open_words(tmp_path / "cut.bin")


def test_a_file_that_cannot_be_opened(tmp_path):
    with pytest.raises(BackendError, match="No such file"):
        open_words(tmp_path / "gone.vec")


def test_too_many_words(tmp_path, monkeypatch):
    monkeypatch.setattr(word_files, "MOST_WORDS", 3)
    with pytest.raises(BackendError, match="more than 3 words"):
        open_words(as_glove(tmp_path / "g.txt", made_vectors(WORDS)))
