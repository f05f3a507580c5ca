import hashlib
from random import Random

import pytest

from annotations.domain.hashing import gold_hash, text_sha256

NOTES = [
    ("a", text_sha256("Anna"), [(0, 4, "NAME"), (0, 2, "ID")]),
    ("folder/b", text_sha256("1999"), [(0, 4, "DATE")]),
    ("c", text_sha256(""), []),
]


def test_the_hash_of_a_text_is_that_of_its_file() -> None:
    text = "\ufeffÈ\r\n😀"
    assert text_sha256(text) == hashlib.sha256(b"\xef\xbb\xbf\xc3\x88\r\n\xf0\x9f\x98\x80").hexdigest()


def test_the_hash_never_changes() -> None:
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


@pytest.mark.parametrize(
    "changed",
    [
        NOTES[:2],
        [("A", *NOTES[0][1:]), *NOTES[1:]],
        [("a", text_sha256("Anne"), NOTES[0][2]), *NOTES[1:]],
        [("a", NOTES[0][1], [(0, 4, "NAME"), (0, 3, "ID")]), *NOTES[1:]],
        [("a", NOTES[0][1], [(0, 4, "ID"), (0, 2, "NAME")]), *NOTES[1:]],
        [("a", NOTES[0][1], [(0, 4, "NAME")]), ("folder/b", NOTES[1][1], [(0, 4, "DATE"), (0, 2, "ID")]), NOTES[2]],
        [*NOTES, NOTES[2]],
    ],
)
def test_every_change_gives_another_hash(changed: list) -> None:
    assert gold_hash(changed) != gold_hash(NOTES)
