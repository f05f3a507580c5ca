"""A file that somebody names brings the text or the annotations of the same name, and no other file."""

import pytest

from annotations.exchange.services.sources import FileSource

BESIDE = ["a.txt", "a.ann", "a.conll", "a.jsonl", "a.xml", "a.b.txt"]


@pytest.mark.parametrize(
    ("named", "taken"),
    [
        ("a.jsonl", ["a.jsonl"]),
        ("a.xml", ["a.xml"]),
        ("a.ann", ["a.ann", "a.txt"]),
        ("a.conll", ["a.conll", "a.txt"]),
        ("a.txt", ["a.ann", "a.conll", "a.txt"]),
    ],
)
def test_the_files_of_a_path(tmp_path, named, taken):
    for name in BESIDE:
        (tmp_path / name).write_text("")
    assert FileSource(tmp_path / named).names() == taken
