import hashlib
from random import Random

import pytest

from annotations.text.hashes import gold_hash, text_sha256

NOTES = [
    ("a", text_sha256("Anna"), [(0, 4, "NAME"), (0, 2, "ID")]),
    ("folder/b", text_sha256("1999"), [(0, 4, "DATE")]),
    ("c", text_sha256(""), []),
]


def test_the_hash_never_changes() -> None:
    # That of a text is that of its file.
    assert text_sha256("\ufeffÈ\r\n😀") == hashlib.sha256("\ufeffÈ\r\n😀".encode()).hexdigest()
    assert gold_hash([]) == hashlib.sha256(b"deidreview gold 1\n").hexdigest()
    row = b'["a","00",[[0,4,"NAME"],[5,6,"ID"]]]'
    whole = hashlib.sha256(b"deidreview gold 1\n" + hashlib.sha256(row).digest()).hexdigest()
    assert gold_hash([("a", "00", [(5, 6, "ID"), (0, 4, "NAME")])]) == whole


def test_the_order_does_not_matter() -> None:
    expected = gold_hash(NOTES)
    for seed in range(5):
        shuffled = [(name, sha, Random(seed).sample(spans, len(spans))) for name, sha, spans in NOTES]
        Random(seed).shuffle(shuffled)
        assert gold_hash(iter(shuffled)) == expected


CHANGED = [
    NOTES[:2],
    [("A", *NOTES[0][1:]), *NOTES[1:]],
    [("a", text_sha256("Anne"), NOTES[0][2]), *NOTES[1:]],
    [("a", NOTES[0][1], [(0, 4, "NAME"), (0, 3, "ID")]), *NOTES[1:]],
    [("a", NOTES[0][1], [(0, 4, "ID"), (0, 2, "NAME")]), *NOTES[1:]],
    [("a", NOTES[0][1], [(0, 4, "NAME")]), ("folder/b", NOTES[1][1], [(0, 4, "DATE"), (0, 2, "ID")]), NOTES[2]],
    [*NOTES, NOTES[2]],
]


@pytest.mark.parametrize("changed", CHANGED)
def test_every_change_gives_another_hash(changed: list) -> None:
    assert gold_hash(changed) != gold_hash(NOTES)
