"""Hashes that name a text and a gold version by what they hold."""

import hashlib
import json
from collections.abc import Iterable


def text_sha256(text: str) -> str:
    """The sha256 of the text as UTF-8, in hexadecimal; for an imported note, that of its file."""
    return hashlib.sha256(text.encode()).hexdigest()


def gold_hash(notes: Iterable[tuple[str, str, Iterable[tuple[int, int, str]]]]) -> str:
    """The sha256 of a gold version: of each note its name, its `text_sha256` and its spans (start, end, label code).

    Neither the order of the notes nor that of the spans counts; each note is hashed as JSON by itself, so that a
    million of them need no more than their hashes in memory.
    """
    digests = []
    for name, sha256, spans in notes:
        canonical = json.dumps([name, sha256, sorted(map(list, spans))], ensure_ascii=True, separators=(",", ":"))
        digests.append(hashlib.sha256(canonical.encode()).digest())
    whole = hashlib.sha256(b"deidreview gold 1\n")
    for digest in sorted(digests):
        whole.update(digest)
    return whole.hexdigest()
